import type { Clock } from '../kit/clock.ts'
import type { Guard } from './guard.ts'

/** Sends one POST to a receiver; `post.ts` implements it. */
export interface Poster {
  /** Loads what the first post needs. */
  prepare(): void
  /**
   * Never rejects: every error becomes a failed post.
   *
   * @param isWanted asked when a new connection is open, which can take seconds; if not, nothing is sent
   */
  post(
    url: URL,
    headers: Readonly<Record<string, string>>,
    body: Buffer | string,
    isWanted?: () => boolean,
  ): Promise<PostResult>
  close(): void
}

export interface PostResult {
  readonly status: number | null
  readonly error: string | null
  readonly retryAfter: string | undefined
  readonly durationMs: number
  /** The beginning of the response's head and body; null if there was none. */
  readonly responseHead: string | null
  readonly response: string | null
}

export interface PosterOptions {
  readonly guard: Guard
  readonly clock: Clock
  readonly answerLimitMs?: number
}

export type OpenPoster = (options: PosterOptions) => Poster
