import type { Readiness } from '../api/endpoints/services.ts'
import type { ReadinessProbe } from './parts.ts'

export async function askParts(probes: readonly ReadinessProbe[]): Promise<Readiness> {
  const parts = await Promise.all(probes.map(({ name, check }) => askPart(name, check)))
  return { ready: parts.every((part) => part.ok), parts }
}

/** Whether callers are served: a venue that is stale for a day is a gap of its source, not a day without an answer. */
export async function canAnswer(probes: readonly ReadinessProbe[]): Promise<boolean> {
  return (await askParts(probes.filter(({ isStore }) => isStore))).ready
}

async function askPart(name: string, check: () => Promise<void>): Promise<Readiness['parts'][number]> {
  try {
    await check()
    return { name, ok: true }
  } catch (error) {
    return { name, ok: false, detail: error instanceof Error ? error.message : String(error) }
  }
}
