import type { EnvironmentParts } from './parts.ts'
import { watchAbsence } from './watch-absence.ts'

/**
 * Whether webhooks wait because no process delivers. All processes that deliver share one report, so none of them
 * withdraws it: it becomes silent when the last one has ended.
 */
export function watchDeliverers(
  { environment, reports, does, clock }: Pick<EnvironmentParts, 'environment' | 'reports' | 'does' | 'clock'>,
  { activeWebhooks }: { activeWebhooks: () => number },
) {
  const name = `deliver/${environment}` as const
  const absence = watchAbsence<typeof name>(clock)
  if (does('deliver')) reports.add(name, () => ({ report: null, problem: null }))
  function isMissing(): boolean {
    const [found] = reports.find((part) => part === name)
    if (found?.isSilent === false) absence.note(name)
    return activeWebhooks() > 0 && (found?.isSilent ?? absence.isAbsent(name))
  }
  return {
    isMissing,
    async check() {
      if (isMissing()) throw new Error('no process delivers')
    },
  }
}
