/**
 * The storage port of leader leases: which process leads a part of the service (`record:cexa/live`, `index/live`,
 * `deliver`, `upkeep`).
 *
 *   free ──take──▶ led, term n ──renew──▶ …  ──released or expired──▶ free ──take──▶ led, term n + 1
 *
 * A term is never assigned twice. Every write of a leader carries its term (`Fence`), so that a process which was
 * paused and resumes while another one leads can no longer write.
 */
export interface Fence {
  readonly part: string
  readonly term: number
}

export interface LeaseRecord extends Fence {
  /** The process that leads, or led last. */
  readonly holder: string
  /** How long the lease still runs; 0 when it has expired. */
  readonly leftMs: number
}

export interface LeaseStore {
  /** Undefined while another process leads. The engine's clock decides when a lease expires. */
  take(request: { part: string; holder: string; durationMs: number }): Promise<Fence | undefined>
  /** False when another process has taken the lease since, or it was released. */
  renew(fence: Fence, durationMs: number): Promise<boolean>
  /** Ends the lease at once, so that another process can take it. */
  release(fence: Fence): Promise<void>
  list(): Promise<LeaseRecord[]>
  close(): Promise<void>
}

/** A lease that expires further ahead than this was written under a wrong clock and counts as expired. */
export const MAX_LEASE_AHEAD_MS = 60_000

/** Another process leads this part; nothing was written. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError'
  constructor({ part, term }: Fence) {
    super(`the lease ${part} (term ${term}) is not ours any more`)
  }
}
