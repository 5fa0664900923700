/** `npm run simulate -- --plant`: runs each planted defect in a separate process until a seed finds it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { PLANTS } from './plants.ts'

const RUN = new URL('./run.ts', import.meta.url).pathname
const HOOK = new URL('./planted.ts', import.meta.url).href
const MAX_SEEDS = 500

interface Where {
  readonly hours: number
  readonly venue: string | undefined
  readonly fault: string | undefined
}

/** Returns how many defects were not found. */
export async function plantAll(
  options: Where & { first: number; only?: string | undefined },
  print: (line: string) => void,
): Promise<number> {
  const plants = PLANTS.filter(({ name }) => options.only === undefined || name.includes(options.only))
  let missed = 0
  for (const { name, parts } of plants) {
    const found = await search(name, {
      ...options,
      only: options.venue === undefined ? parts.join() : undefined,
    })
    if (found.law === undefined) missed++
    print(
      found.law === undefined
        ? `MISSED  ${name}: ${found.seeds} seeds hold`
        : `found   ${name}: after ${found.seeds} seeds, law ${found.law}`,
    )
  }
  print(`${plants.length - missed} of ${plants.length} planted defects were found`)
  return missed
}

/** A seed that also breaks a law without the defect has not found it, so the search continues. */
async function search(
  plant: string,
  { first, ...about }: Where & { first: number; only: string | undefined },
) {
  for (let seeds = 0; ; ) {
    const left = MAX_SEEDS - seeds
    if (left <= 0) return { seeds, law: undefined }
    const planted = await run({ seed: first + seeds, many: left, ...about }, plant)
    seeds += planted.seeds
    if (planted.law === undefined) return { seeds, law: undefined }
    const sound = await run({ seed: first + seeds - 1, many: 1, ...about })
    if (sound.law === undefined) return { seeds, law: planted.law }
  }
}

async function run(seeds: Where & { seed: number; many: number; only: string | undefined }, plant?: string) {
  const hook = plant === undefined ? [] : ['--import', HOOK]
  const args = Object.entries(seeds).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, `${value}`],
  )
  const child = spawn(process.execPath, [...hook, RUN, ...args, '--until-broken', '--no-shrink'], {
    env: { ...process.env, ...(plant === undefined ? {} : { TAPELINE_PLANT: plant }) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  let count = 0
  let law: string | undefined
  for await (const line of createInterface({ input: child.stdout })) {
    if (/^(ok {4}|BROKEN|passed) seed/.test(line)) count++
    law ??= /( breaks law |^BROKEN seed \d+: (?=not over))(.*)$/.exec(line)?.[2]
  }
  const [code] = await exited
  if (law === undefined && code !== 0) throw new Error(`the simulation ended with code ${code}`)
  return { seeds: count, law }
}
