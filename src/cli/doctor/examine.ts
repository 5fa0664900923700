import type { Machine } from './check.ts'
import { DOCTOR_CHECKS } from './checks.ts'

export interface Diagnosis {
  readonly check: string
  readonly finding: string
  readonly todo: string
}

/** Far longer than any check takes; each check limits its own waits. */
const CHECK_WITHIN_MS = 60_000

/**
 * Runs one check after the other, because some of them are CPU-intensive. A check that fails or hangs is a finding, and
 * the others continue.
 */
export async function examine(machine: Machine): Promise<Diagnosis[]> {
  const found: Diagnosis[] = []
  for (const { name, run } of DOCTOR_CHECKS) {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      const error = new Error(`no result within ${CHECK_WITHIN_MS / 1000} s`)
      timer = setTimeout(() => reject(error), CHECK_WITHIN_MS)
    })
    try {
      const advice = await Promise.race([Promise.resolve(machine).then(run), late])
      found.push(...advice.map((each) => ({ check: name, ...each })))
    } catch (error) {
      const finding = `It could not be checked: ${(error as Error).message}`
      found.push({ check: name, finding, todo: 'Correct this first, and run tapeline doctor again.' })
    } finally {
      clearTimeout(timer)
    }
  }
  return found
}
