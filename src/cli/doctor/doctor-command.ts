import { CommandError, type CommandForm } from '../command.ts'
import type { Output } from '../output.ts'
import type { Machine } from './check.ts'
import { DOCTOR_CHECKS } from './checks.ts'
import { type Diagnosis, examine } from './examine.ts'

export const DOCTOR_COMMAND: CommandForm = {
  name: 'doctor',
  about:
    'Checks what operators forget, with the settings of the service, and prints what to do. Changes nothing.',
  options: {},
}

export async function runDoctor(machine: Machine, output: Output, json: boolean): Promise<void> {
  const found = await examine(machine)
  if (json) output.print(found)
  else if (found.length === 0) output.line(`Nothing to do: ${DOCTOR_CHECKS.length} checks found nothing.`)
  else for (const { check, finding, todo } of found) output.line(`${check}\n  ${finding}\n  → ${todo}\n`)
  if (found.length > 0) throw new CommandError(summaryOf(found))
}

function summaryOf(found: readonly Diagnosis[]): string {
  const what = found.length === 1 ? '1 finding' : `${found.length} findings`
  return `${what} of ${DOCTOR_CHECKS.length} checks.`
}
