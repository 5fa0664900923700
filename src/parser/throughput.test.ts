/**
 * A burst of a few thousand transactions per second must not saturate a core. The goal is 20,000 everyday transactions
 * per second on one core, including their ids. The test requires less, because it shares its machine.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { readTransaction } from '../core/chain/transaction-json.ts'
import { parseTransaction } from './parse-transaction.ts'

const KEY = '7bc04196f1125e4f2676cd09ed14afb77223b1f62177da5488346323eaa91a69'
const FLOOR = 6_000

function payment(version: number, round: number): unknown {
  return {
    version,
    inputs: [
      {
        previousOutpoint: { transactionId: 'cc'.repeat(32), index: round },
        signatureScript: `41${'00'.repeat(65)}`,
        sequence: 0,
        sigOpCount: version === 0 ? 1 : 0,
        computeBudget: version * 10,
      },
    ],
    outputs: [
      { value: 1_000_000 + round, scriptPublicKey: `000020${KEY}ac` },
      { value: 2_000_000, scriptPublicKey: `000020${KEY}ac` },
    ],
    lockTime: 0,
    subnetworkId: '00'.repeat(20),
    gas: 0,
    payload: '',
    mass: 0,
  }
}

for (const version of [0, 1]) {
  test(`everyday transactions of version ${version} are read and parsed fast enough`, (t: TestContext) => {
    const run = (count: number) => {
      for (let round = 0; round < count; round++) {
        const read = readTransaction(payment(version, round))
        assert.ok(read.ok)
        parseTransaction(read.transaction, { network: 'mainnet' })
      }
    }
    run(2_000)
    const count = 20_000
    const before = process.cpuUsage()
    run(count)
    const used = process.cpuUsage(before)
    const perSecond = Math.round(count / ((used.user + used.system) / 1_000_000))
    t.diagnostic(`version ${version}: ${perSecond} transactions per second of one core`)
    assert.ok(perSecond >= FLOOR, `${perSecond} per second`)
  })
}

test('the largest program that a block can hold does not stop the loop for long', () => {
  const program = '61'.repeat(240_000)
  const length = Buffer.alloc(4)
  length.writeUInt32LE(program.length / 2)
  const json = payment(1, 0) as { inputs: { signatureScript: string }[] }
  for (const input of json.inputs) input.signatureScript = `4e${length.toString('hex')}${program}`
  const read = readTransaction(json)
  assert.ok(read.ok)
  const before = process.cpuUsage()
  for (let round = 0; round < 5; round++) parseTransaction(read.transaction, { network: 'mainnet' })
  const used = process.cpuUsage(before)
  assert.ok((used.user + used.system) / 5 < 200_000, `${(used.user + used.system) / 5} µs`)
})
