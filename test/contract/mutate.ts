/** `npm run mutate`: changes each cost, bound, default and plan value in turn; every change must be noticed. */
import { findMutants } from './mutants.ts'
import { tryMutants } from './mutate-run.ts'

const verdicts = await tryMutants(findMutants())
for (const { mutant, noticed } of verdicts) {
  const { file, line, was, becomes } = mutant
  const change = `${was.replace(/\s+/g, ' ').slice(-40)} → ${becomes.replace(/\s+/g, ' ').slice(-40)}`
  const verdict = noticed === undefined ? 'SURVIVED' : 'noticed '
  process.stdout.write(
    `${verdict} ${`${file}:${line}`.padEnd(52)} ${change.padEnd(48)} ${(noticed ?? '').slice(0, 100)}\n`,
  )
}
const survivors = verdicts.filter(({ noticed }) => noticed === undefined)
process.stdout.write(`${verdicts.length} changes, ${survivors.length} not noticed\n`)
process.exitCode = survivors.length > 0 || verdicts.length === 0 ? 1 : 0
