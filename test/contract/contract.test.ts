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

test('every path publishes exactly the prices per row that can occur on it', () => {
  const document = JSON.parse(readFileSync(join(import.meta.dirname, '../../openapi.json'), 'utf8')) as {
    paths: Record<string, Record<string, { 'x-credits'?: string }>>
  }
  const published: Record<string, number[]> = {}
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, { 'x-credits': words = '' }] of Object.entries(methods)) {
      const prices = [...words.matchAll(/(\d+) per row/g)].map((match) => Number(match[1]))
      published[`${method.toUpperCase()} ${path}`] = prices
    }
  }
  for (const [name, { credits }] of Object.entries(OPERATIONS)) {
    const { row, orderbook } = credits
    const expected = [...(row === 0 ? [] : [row]), ...(orderbook === undefined ? [] : [orderbook])]
    assert.deepEqual(published[name], expected, name)
  }
  for (const [name, { of, bound, row }] of Object.entries(ALIASES)) {
    const credits = OPERATIONS[of]?.credits
    const own = row ?? credits?.row ?? 0
    const both = bound.source === 'predmkt_a' && bound.include_orderbook === undefined
    const dearer = both && credits?.orderbook !== undefined ? [credits.orderbook] : []
    assert.deepEqual(published[name], [...(own === 0 ? [] : [own]), ...dearer], name)
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

test('texts name a plan by its own name, with the tier beside it', () => {
  const text = readFileSync(join(import.meta.dirname, '../../openapi.json'), 'utf8')
  const { paths } = JSON.parse(text) as {
    paths: Record<string, Record<string, { description: string; 'x-min-tier'?: string }>>
  }
  const words: Record<string, string> = {
    free: 'free plan',
    pro: 'developer plan (tier pro)',
    business: 'business plan',
  }
  for (const [path, methods] of Object.entries(paths)) {
    for (const { description, 'x-min-tier': tier } of Object.values(methods)) {
      if (tier !== undefined) assert.ok(description.includes(`Open from the ${words[tier]} on.`), path)
    }
  }
})
