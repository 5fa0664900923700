import type { Readiness } from '../api/endpoints/services.ts'
import { StoreUnavailableError, WritesRefusedError } from '../core/store-unavailable.ts'
import type { Logger } from '../kit/log.ts'
import type { ReadinessProbe } from './parts.ts'

/** Anybody may ask `/ready`, and each run reads every store, so callers within this time share one run. */
const SHARED_MS = 1_000

/**
 * For `/ready`. The text of a store's error names hosts, so it is only logged, once each time the part begins to fail.
 */
export function sharedReadiness(
  probes: readonly ReadinessProbe[],
  { log, nowMs = () => performance.now() }: { log: Logger; nowMs?: () => number },
): () => Promise<Readiness> {
  const failing = new Set<string>()
  let known: { readiness: Promise<Readiness>; untilMs: number } | undefined

  async function ask(): Promise<Readiness> {
    const readiness = await askParts(probes, (part, err) => {
      if (!failing.has(part)) log.warn({ err, part }, 'a store cannot be reached')
      failing.add(part)
    })
    for (const { name, ok } of readiness.parts) if (ok) failing.delete(name)
    return readiness
  }

  return () => {
    if (known !== undefined && nowMs() < known.untilMs) return known.readiness
    const run = { readiness: ask(), untilMs: Number.POSITIVE_INFINITY }
    known = run
    return run.readiness.finally(() => {
      run.untilMs = nowMs() + SHARED_MS
    })
  }
}

export async function askParts(
  probes: readonly ReadinessProbe[],
  onStoreError: (part: string, error: StoreUnavailableError) => void = () => {},
): Promise<Readiness> {
  const parts = await Promise.all(probes.map((probe) => askPart(probe, onStoreError)))
  return { ready: parts.every((part) => part.ok), parts }
}

/** Whether callers are served. A venue that is stale for a day is a gap of its source, not a day of downtime. */
export async function canAnswer(probes: readonly ReadinessProbe[]): Promise<boolean> {
  return (await askParts(probes.filter(({ isStore }) => isStore))).ready
}

async function askPart(
  { name, check }: ReadinessProbe,
  onStoreError: (part: string, error: StoreUnavailableError) => void,
): Promise<Readiness['parts'][number]> {
  try {
    await check()
    return { name, ok: true }
  } catch (error) {
    if (error instanceof StoreUnavailableError) onStoreError(name, error)
    return { name, ok: false, detail: detailOf(error) }
  }
}

function detailOf(error: unknown): string {
  if (error instanceof WritesRefusedError) return 'The store accepts no writes at the moment.'
  if (error instanceof StoreUnavailableError) return 'The store cannot be reached at the moment.'
  return error instanceof Error ? error.message : String(error)
}
