export * from './api.js';
export { Onceward, isFinal } from './client.js';
export type { CallOptions, OncewardOptions, WaitOptions } from './client.js';
export { OncewardError } from './error.js';
export type { ErrorCode } from './error.js';
export { answerText, guard } from './guard.js';
export type { GuardOptions } from './guard.js';
