/** Faults of webhook receivers. */
import type { FaultKind, ScheduledFault } from '../schedule.ts'
import type { ReceiverMood, Receivers } from './receivers.ts'

const moodFault = (mood: ReceiverMood, weight: number, settings?: FaultKind['settings']): FaultKind => ({
  kind: `receiver-${mood}`,
  weight,
  durationMs: [1_000, 12 * 60_000],
  settings: (random) => ({ receiver: random.int(0, 2), ...settings?.(random) }),
})

export const RECEIVER_FAULTS: readonly FaultKind[] = [
  moodFault('status', 2, (random) => ({
    status: random.pick([400, 404, 408, 410, 429, 500, 503]),
    retryAfterS: random.pick([0, 0, 1, 30]),
  })),
  moodFault('hang', 1),
  moodFault('cut', 1),
  moodFault('cut-after', 2),
  moodFault('slow', 1),
  moodFault('redirect', 1),
  moodFault('oversized', 1),
  moodFault('any', 2),
]

export function beginReceiverFault(
  receivers: Receivers,
  { kind, settings }: ScheduledFault,
): (() => void) | undefined {
  if (!kind.startsWith('receiver-')) return undefined
  const receiver = receivers.all[Number(settings.receiver) % receivers.all.length]
  if (receiver === undefined) return () => {}
  receiver.mood = kind.slice('receiver-'.length) as ReceiverMood
  receiver.status = Number(settings.status ?? 500)
  receiver.retryAfter = Number(settings.retryAfterS ?? 0) > 0 ? String(settings.retryAfterS) : undefined
  return () => {
    receiver.mood = 'ok'
  }
}
