import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { KNOWN_DIFFERENCES } from '../real-node/known-differences.ts'

test('the page about the simulated node has every known difference and its reason', () => {
  const page = readFileSync('docs/protocol/simulated-node.md', 'utf8')
  const [list = ''] = page.split('\n## ')
  const rows = list.split('\n').filter((line) => line.startsWith('| `'))
  assert.deepEqual(
    rows,
    KNOWN_DIFFERENCES.map(({ what, why }) => `| \`${what}\` | ${why} |`),
  )
})
