import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findMutants } from './mutants.ts'
import { tryMutants } from './mutate-run.ts'

/** `npm run mutate` tries all, and so do the long sizes; here every forty-eighth. */
const STEP = process.env.TAPELINE_SOAK ? 1 : 48
const START = 5

test('a changed cost, bound, default or plan value is noticed (a sample; npm run mutate tries all)', async () => {
  const all = findMutants()
  assert.ok(all.length > 150, `only ${all.length} values were found`)
  const sample = all.filter((_, index) => index % STEP === START % STEP)
  const verdicts = await tryMutants(sample)
  assert.deepEqual(
    verdicts.filter(({ noticed }) => noticed === undefined).map(({ mutant }) => mutant),
    [],
  )
})

test('every kind of value is found: prices, bounds, defaults, gates, plans, statuses', () => {
  const all = findMutants()
  const has = (file: string, was: string) => all.some((m) => m.file.endsWith(file) && m.was === was)
  assert.ok(has('market/sources.ts', '25'))
  assert.ok(has('market/candles.ts', '10_000'))
  assert.ok(has('market/candles.ts', "'1h'"))
  assert.ok(has('market/liquidations.ts', "'business'"))
  assert.ok(has('core/plan.ts', '50_000_000'))
  assert.ok(has('core/plan.ts', '184'))
  assert.ok(has('core/errors.ts', '429'))
})
