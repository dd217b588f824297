import type { Operation, OperationAnswer, OperationRequest, OperationState, Problem } from './api.js';
import { OncewardError } from './error.js';

export interface OncewardOptions {
  /** Where the server is: http://127.0.0.1:8686. */
  baseUrl: string;
  /** A token of role caller; not needed on loopback without tokens. */
  token?: string;
  /** How often a request is sent again that nobody answered, or whose refusal may pass: 4 if absent. */
  retries?: number;
  /** The first wait before that, in milliseconds; it doubles each time, up to ten seconds: 200 if absent. */
  backoffMs?: number;
  /** In place of the global fetch. */
  fetch?: typeof fetch;
}

export interface CallOptions {
  /** The caller's key, where the contract has no rule of its own. The same for every repeat of the same intention. */
  key?: string;
  run?: string;
  decision?: string;
  branch?: string;
  correlationId?: string;
  /** How long the server waits for the end, as a Go duration: 10s if absent, 60s at most. */
  wait?: string;
  onDuplicate?: NonNullable<OperationRequest['on_duplicate']>;
  signal?: AbortSignal;
}

export interface WaitOptions {
  /** How long to wait in all, in milliseconds: 120000 if absent. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

const finals: ReadonlySet<string> = new Set(['succeeded', 'failed', 'cancelled', 'abandoned', 'compensated']);

/** Whether an operation has ended: nothing happens to it any more by itself. */
export function isFinal(op: Operation): boolean {
  return finals.has(op.state);
}

/** A client of one server. It sends a request again only as it was, under the same key: that never makes a second effect. */
export class Onceward {
  readonly #base: string;
  readonly #token: string | undefined;
  readonly #retries: number;
  readonly #backoff: number;
  readonly #fetch: typeof fetch;

  constructor(options: OncewardOptions) {
    this.#base = options.baseUrl.replace(/\/+$/, '');
    this.#token = options.token;
    this.#retries = options.retries ?? 4;
    this.#backoff = options.backoffMs ?? 200;
    this.#fetch = options.fetch ?? fetch;
  }

  /**
   * Asks for a tool's write. The same intention again gets the first one's answer.
   * An answer that is not final (`isFinal`) says so; an operation that ended without its effect is an OncewardError with
   * code `operation_failed`.
   */
  call(tool: string, input: object, options: CallOptions = {}): Promise<OperationAnswer> {
    const request: OperationRequest = { tool, input };
    if (options.key !== undefined) request.key = options.key;
    if (options.run !== undefined) request.run = options.run;
    if (options.decision !== undefined) request.decision = options.decision;
    if (options.branch !== undefined) request.branch = options.branch;
    if (options.correlationId !== undefined) request.correlation_id = options.correlationId;
    if (options.wait !== undefined) request.wait = options.wait;
    if (options.onDuplicate !== undefined) request.on_duplicate = options.onDuplicate;
    return this.submit(request, options.signal);
  }

  /** Asks for an operation in the API's own words. */
  submit(request: OperationRequest, signal?: AbortSignal): Promise<OperationAnswer> {
    return this.#ask<OperationAnswer>('POST', '/v1/operations', request, signal);
  }

  /** Reads an operation. With wait (a Go duration), it waits for the end for so long. */
  async get(id: string, wait?: string, signal?: AbortSignal): Promise<Operation> {
    const query = wait === undefined ? '' : `?wait=${encodeURIComponent(wait)}`;
    return (await this.#ask<OperationState>('GET', `/v1/operations/${encodeURIComponent(id)}${query}`, undefined, signal)).operation;
  }

  /** Waits until an operation has ended or the time is over, and returns it as it is then. */
  async wait(id: string, options: WaitOptions = {}): Promise<Operation> {
    const until = Date.now() + (options.timeoutMs ?? 120_000);
    for (;;) {
      const left = Math.max(0, until - Date.now());
      const op = await this.get(id, `${Math.min(30_000, left)}ms`, options.signal);
      if (isFinal(op) || left === 0) return op;
      if (op.state === 'awaiting_approval' || op.state === 'needs_review') await pause(Math.min(1000, left), options.signal);
    }
  }

  async #ask<T>(method: string, path: string, body: unknown, signal: AbortSignal | undefined): Promise<T> {
    const headers: Record<string, string> = { Accept: 'application/json' };
    if (this.#token !== undefined) headers['Authorization'] = `Bearer ${this.#token}`;
    const init: RequestInit = { method, headers, redirect: 'error' };
    if (signal !== undefined) init.signal = signal;
    if (body !== undefined) {
      headers['Content-Type'] = 'application/json';
      init.body = JSON.stringify(body); // once: every repeat sends the same bytes
    }
    for (let n = 0; ; n++) {
      const { value, error, after } = await this.#once<T>(path, init);
      if (error === undefined) return value as T;
      // A failed operation is an answer: the ledger has tried again as often as its contract says.
      if (!error.retryable || error.code === 'operation_failed' || n >= this.#retries || signal?.aborted) throw error;
      await pause(Math.max(after, Math.min(10_000, this.#backoff * 2 ** n)), signal);
    }
  }

  async #once<T>(path: string, init: RequestInit): Promise<{ value?: T; error?: OncewardError; after: number }> {
    let status = 0;
    try {
      const response = await this.#fetch(this.#base + path, init);
      status = response.status;
      const after = 1000 * Number(response.headers.get('Retry-After') ?? 0) || 0;
      const value: unknown = await response.json();
      if (response.ok) return { value: value as T, after };
      return { error: new OncewardError(status, value as Problem), after };
    } catch (cause) {
      if (init.signal?.aborted) throw cause;
      return { error: new OncewardError(status, undefined, cause), after: 0 };
    }
  }
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    if (signal?.aborted) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });
}
