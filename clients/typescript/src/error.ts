import type { Operation, Problem } from './api.js';

/** One of the closed list of codes, or `unreachable`: nobody answered, and the same request may be asked again. */
export type ErrorCode = Problem['code'] | 'unreachable';

/**
 * A refusal or a failure. Decide by `code` and the three flags, never by the text.
 * Asking again with the same input and key is always safe.
 */
export class OncewardError extends Error {
  override readonly name = 'OncewardError';
  readonly code: ErrorCode;
  /** The HTTP status; 0 where nobody answered. */
  readonly status: number;
  /** Asking again, unchanged, may bring another answer. */
  readonly retryable: boolean;
  /** The write may have had its effect though nothing proves it. */
  readonly sideEffectPossible: boolean;
  /** Somebody has to find out what happened before it is repeated. */
  readonly reconciliationRequired: boolean;
  /** What to do now, in a sentence that an agent can follow. */
  readonly advice: string;
  readonly operationId: string | undefined;
  /** The operation, with `operation_failed`. */
  readonly operation: Operation | undefined;
  readonly problem: Problem | undefined;

  constructor(status: number, problem: Problem | undefined, cause?: unknown) {
    super(problem ? `${problem.title}${problem.detail ? `: ${problem.detail}` : ''}` : 'the server gave no answer that can be read', { cause });
    this.status = status;
    this.problem = problem;
    this.code = problem?.code ?? 'unreachable';
    this.retryable = problem?.retryable ?? true;
    this.sideEffectPossible = problem?.side_effect_possible ?? true;
    this.reconciliationRequired = problem?.reconciliation_required ?? false;
    this.advice = problem?.advice ?? 'It may have happened: do not change the key; ask again with the same one.';
    this.operationId = problem?.operation_id ?? problem?.operation?.id;
    this.operation = problem?.operation;
  }
}
