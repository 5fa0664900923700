/**
 * The storage port of counted attempts, which are slowed down as their number grows, across all processes: wrong
 * passwords by e-mail and by address, sign-ups by address. Unlike other shared counts they survive a crash of the
 * store.
 */
export interface AttemptCount {
  /** Attempts in the current window before this one. The window began with its first attempt. */
  readonly before: number
  /** How long the window still lasts. */
  readonly leftMs: number
}

export interface AttemptCounts {
  /** Counts one attempt for each name. The names must differ; the results are in the order of the names. */
  addAttempts(names: readonly string[], windowMs: number): Promise<AttemptCount[]>
  /** Undoes one attempt for each name, for calls that turned out not to be attempts. */
  takeBackAttempts(names: readonly string[]): Promise<void>
  forgetAttempts(names: readonly string[]): Promise<void>
}
