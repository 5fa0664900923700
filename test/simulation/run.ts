/**
 * `npm run simulate -- --seed 17 --hours 6`: runs a whole system from one seed, and prints the first law that it breaks
 * with the shortest schedule that still breaks it.
 */
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { drawParts, PARTS } from './parts.ts'
import { plantAll } from './plant.ts'
import { createRandom } from './random.ts'
import { describeFault, type ScheduledFault } from './schedule.ts'
import { shrinkSchedule } from './shrink.ts'
import { type Outcome, type PartKind, simulate } from './simulation.ts'

const print = (line: string) => void process.stdout.write(`${line}\n`)
const complain = (line: string) => void process.stderr.write(`${line}\n`)

const HELP = `npm run simulate -- [options]

  --seed N      the first seed (default 1)
  --hours H     simulated hours (default 2)
  --many N      so many seeds in a row
  --venue NAME  only this part: ${PARTS.map(({ name }) => name).join(', ')}
  --only NAMES  passes over seeds that draw none of these parts (joined by commas)
  --fault KINDS  only faults of these kinds (joined by commas)
  --plant [NAME]  planted defects, one after another, until a seed finds each of them
  --until-broken  ends with the first seed that breaks a law
  --log         every line of the simulation
  --no-shrink   do not look for the shortest schedule
`

const { values, positionals } = parseArgs({
  allowNegative: true,
  allowPositionals: true,
  options: {
    seed: { type: 'string', default: '1' },
    hours: { type: 'string', default: '2' },
    many: { type: 'string', default: '1' },
    venue: { type: 'string' },
    only: { type: 'string' },
    fault: { type: 'string' },
    plant: { type: 'boolean', default: false },
    'until-broken': { type: 'boolean', default: false },
    log: { type: 'boolean', default: false },
    shrink: { type: 'boolean', default: true },
    help: { type: 'boolean', default: false },
  },
})

function numberOf(name: 'seed' | 'hours' | 'many', min: number): number {
  const value = Number(values[name])
  if (Number.isFinite(value) && value >= min) return value
  complain(`--${name} must be a number of at least ${min}`)
  process.exit(2)
}

function partsOf(seed: number): readonly PartKind[] {
  if (values.venue === undefined) return drawParts(createRandom(seed, 'parts'))
  const chosen = PARTS.filter(({ name }) => name === values.venue)
  if (chosen.length > 0) return chosen
  complain(`--venue must be one of ${PARTS.map(({ name }) => name).join(', ')}`)
  process.exit(2)
}

const hours = numberOf('hours', 0.1)
const many = numberOf('many', 1)
const first = numberOf('seed', 0)

/**
 * An endless loop also stops the simulation's time, so another thread reports which seed is stuck. It counts processor
 * time, because the machine may have other work.
 */
const MAX_SECONDS = Math.max(300, 150 * hours)
const watch = new Worker(
  `const { parentPort } = require('node:worker_threads')
   const { writeSync } = require('node:fs')
   let timer
   parentPort.on('message', (seed) => {
     clearInterval(timer)
     const before = process.cpuUsage()
     timer = setInterval(() => {
       const { user, system } = process.cpuUsage(before)
       if (user + system < ${MAX_SECONDS * 1_000_000}) return
       writeSync(1, 'BROKEN seed ' + seed + ': not over after ${MAX_SECONDS} seconds of CPU\\n')
       process.kill(process.pid, 'SIGKILL')
     }, 5_000)
   })`,
  { eval: true },
)
watch.unref()

function run(seed: number, schedule?: readonly ScheduledFault[]): Promise<Outcome> {
  watch.postMessage(seed)
  return simulate({
    ...{ seed, hours, parts: partsOf(seed) },
    ...(schedule === undefined ? {} : { schedule }),
    ...(values.fault === undefined ? {} : { fault: values.fault }),
    ...(values.log && schedule === undefined ? { onLine: (line: string) => print(line) } : {}),
  })
}

async function explain({ seed, schedule, broken }: Outcome): Promise<void> {
  print(`seed ${seed} breaks law ${broken[0]}`)
  for (const text of broken.slice(1, 6)) print(`  also: ${text}`)
  // Only the same law about the same feed counts, because other faults of the schedule may break other laws.
  const keyOf = (text = '') => text.split(':', 1)[0]
  const law = keyOf(broken[0])
  const shortest = values.shrink
    ? await shrinkSchedule(
        schedule,
        async (candidate) => keyOf((await run(seed, candidate)).broken[0]) === law,
      )
    : schedule
  print(`  schedule (${shortest.length} of ${schedule.length} faults):`)
  for (const fault of shortest) print(`    ${describeFault(fault)}`)
  print(`  again: npm run simulate -- --seed ${seed} --hours ${hours}${venueText()}`)
}

const venueText = () => (values.venue === undefined ? '' : ` --venue ${values.venue}`)

if (values.help) {
  print(HELP)
  process.exit(0)
}
if (values.plant) {
  const missed = await plantAll(
    { first, hours, venue: values.venue, fault: values.fault, only: positionals[0] },
    print,
  )
  process.exit(missed === 0 ? 0 : 1)
}
let held = 0
let isBroken = false
const startedMs = performance.now()
const only = values.only?.split(',')
for (let seed = first; seed < first + many; seed++) {
  if (only !== undefined && !partsOf(seed).some(({ name }) => only.includes(name))) {
    held++
    print(`passed seed ${seed}`)
    continue
  }
  const cpuBefore = process.cpuUsage()
  const outcome = await run(seed)
  const { user, system } = process.cpuUsage(cpuBefore)
  const isOk = outcome.broken.length === 0
  if (isOk) held++
  else isBroken = true
  const { tables, log } = outcome.digest
  if (many === 1 && values.log === false)
    for (const fault of outcome.schedule) print(`  ${describeFault(fault)}`)
  const cost = `${outcome.timers} timers, ${((user + system) / 1e6).toFixed(1)} s of CPU`
  const what = `${outcome.parts.join('+')}, ${outcome.schedule.length} faults, ${cost}`
  print(`${isOk ? 'ok    ' : 'BROKEN'} seed ${seed}: ${what}, ${tables.slice(0, 12)} ${log.slice(0, 12)}`)
  if (!isOk) await explain(outcome)
  if (!isOk && values['until-broken']) break
}
const minutes = (performance.now() - startedMs) / 60_000
print(`${held} of ${many} seeds hold; ${((many * hours) / minutes).toFixed(0)} simulated hours per minute`)
process.exitCode = isBroken ? 1 : 0
