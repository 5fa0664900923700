/**
 * The storage port of attempts that are slowed down the more there are, whichever process they reach: wrong passwords by
 * e-mail and by address, sign-ups by address. Unlike other shared counts they survive a crash of the store.
 */
export interface AttemptCount {
  /** Of the window, which began with its first attempt; without the one that was added. */
  readonly before: number
  /** How long the window still lasts. */
  readonly leftMs: number
}

export interface AttemptCounts {
  /** Counts one attempt for each of these names, which differ; the answers have their order. */
  addAttempts(names: readonly string[], windowMs: number): Promise<AttemptCount[]>
  /** It was no attempt after all. */
  takeBackAttempts(names: readonly string[]): Promise<void>
  forgetAttempts(names: readonly string[]): Promise<void>
}
