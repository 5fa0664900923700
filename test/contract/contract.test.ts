import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { differences } from './compare.ts'
import { derive } from './derived.ts'
import { ALIASES, EXPECTED_LATER, OPEN_OPERATIONS, OPERATIONS } from './operations.ts'

test('what is derived from the declarations is the contract as it was typed in', async () => {
  assert.deepEqual(differences(await derive()), [])
})

test('what is expected later does not exist yet, and is part of the contract', async () => {
  const { operations } = await derive()
  assert.deepEqual(
    EXPECTED_LATER.filter((name) => name in operations),
    [],
    'take it out of EXPECTED_LATER: it exists',
  )
  const known = [...Object.keys(OPERATIONS), ...Object.keys(ALIASES), ...OPEN_OPERATIONS]
  assert.deepEqual(
    EXPECTED_LATER.filter((name) => !known.includes(name)),
    [],
  )
})

test('the typed-in tables import nothing of the service', () => {
  for (const file of ['tables.ts', 'operations.ts', 'market-table.ts', 'compare.ts']) {
    const text = readFileSync(join(import.meta.dirname, file), 'utf8')
    assert.doesNotMatch(text, /from '[^']*src\//, file)
  }
})

test('the published credit table is the typed-in one', () => {
  const document = JSON.parse(readFileSync(join(import.meta.dirname, '../../openapi.json'), 'utf8')) as {
    'x-credit-table': { operation: string; base: number; per: { row?: number } }[]
  }
  const table = Object.fromEntries(document['x-credit-table'].map((row) => [row.operation, row]))
  for (const [operation, { credits }] of Object.entries(OPERATIONS)) {
    assert.deepEqual(
      [table[operation]?.base, table[operation]?.per.row ?? 0],
      [credits.base, credits.row ?? 0],
      operation,
    )
  }
  assert.deepEqual(
    Object.keys(ALIASES).filter((name) => table[name] === undefined),
    [],
  )
})
