/**
 * A burst of a few thousand transactions per second must not saturate a core. The goal is 20,000 everyday transactions
 * per second on one core, including their ids. The test requires less, because it shares its machine.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { push } from '../../test/fakes/krc20-scripts.ts'
import { hexOfBytes } from '../core/chain/hex.ts'
import type { SpentOutput, Transaction } from '../core/chain/transaction.ts'
import { readTransaction } from '../core/chain/transaction-json.ts'
import { scriptHash } from './keyed-hash.ts'
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

function transactionOf(
  signatureScripts: readonly string[],
  outputs: Transaction['outputs'] = [],
): Transaction {
  const read = readTransaction(payment(1, 0))
  assert.ok(read.ok)
  const [input] = read.transaction.inputs
  assert.ok(input)
  const inputs = signatureScripts.map((signatureScript, index) => ({
    ...input,
    signatureScript,
    previousOutpoint: { ...input.previousOutpoint, index },
  }))
  return { ...read.transaction, inputs, outputs }
}

function cpuMsOf(work: () => unknown): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

test('the programs of all inputs share one budget of instructions', () => {
  const program = `${'61'.repeat(12_000)}20${KEY}ac`
  const scriptPublicKey = `0000aa20${hexOfBytes(scriptHash(Buffer.from(program, 'hex')))}87`
  const spent: SpentOutput = {
    ...{ amount: 1n, scriptPublicKey, covenantId: null },
    ...{ isCoinbase: false, blockDaaScore: 1n },
  }
  const { inputs } = parseTransaction(
    transactionOf(Array.from({ length: 2 }, () => `${push('01'.repeat(65))}${push(program)}`)),
    { network: 'mainnet', spent: [spent, spent] },
  )
  assert.deepEqual(
    inputs.map(({ signed }) => signed),
    [true, null],
  )
})

test('one input that creates outputs of a thousand covenant tokens does not stop the loop for long', () => {
  const program = `20${KEY}010008${'01'.repeat(8)}0100${'61'.repeat(9_000)}`
  const lists = [32, 1, 8, 1].map((bytes) => push('00'.repeat(16 * bytes))).join('')
  const outputs = Array.from({ length: 1_000 }, (_, id) => ({
    value: 1n,
    scriptPublicKey: `0000aa20${KEY}87`,
    covenant: { authorizingInput: 0, covenantId: id.toString(16).padStart(64, '0') },
  }))
  const transaction = transactionOf([`${lists}${push(program)}`], outputs)
  const ms = cpuMsOf(() => {
    const { details } = parseTransaction(transaction, { network: 'mainnet' })
    assert.equal(details.native_asset?.assets.length, 1_000)
  })
  assert.ok(ms < 1_000, `${ms} ms`)
})
