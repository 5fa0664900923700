import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ParsedTransaction } from '../parser/parse-transaction.ts'
import { feeOf, movementsOf } from './index-address.ts'

/** Signed by a key of the address by default. */
type Cell = [address: string | null, amount: bigint | null, signed?: boolean | null]

function parsed(inputs: Cell[], outputs: [string | null, bigint][]): ParsedTransaction {
  return {
    tx_id: 'ab',
    inputs: inputs.map(([address, amount_sompi, signed = true], index) => ({
      tx_id: 'cd',
      index,
      address,
      amount_sompi,
      signed,
    })),
    outputs: outputs.map(([address, amount_sompi], index) => ({
      index,
      amount_sompi,
      address,
      script_public_key: '0000',
      script_class: 'nonstandard',
      covenant: null,
    })),
    tags: [],
    details: {},
  }
}

function effects(transaction: ParsedTransaction) {
  return Object.fromEntries(
    movementsOf(transaction).map(({ effect: { address, direction, amount, counterparty } }) => [
      address,
      [direction, amount, counterparty],
    ]),
  )
}

test('a payment with change: the sender loses amount and fee, the receiver gains the amount', () => {
  const payment = parsed(
    [['a', 100n]],
    [
      ['b', 60n],
      ['a', 30n],
    ],
  )
  assert.deepEqual(effects(payment), { a: ['send', 70n, 'b'], b: ['receive', 60n, 'a'] })
  assert.equal(feeOf(payment), 10n)
})

test('a payment to itself: the amount is the fee, and there is no counterparty', () => {
  const own = parsed(
    [
      ['a', 50n],
      ['a', 50n],
    ],
    [['a', 95n]],
  )
  assert.deepEqual(effects(own), { a: ['self', 5n, null] })
})

test('the counterparty is the other address with the largest amount; scripts without an address do not count', () => {
  const many = parsed(
    [
      ['a', 10n],
      ['c', 80n],
      ['d', 20n],
    ],
    [
      [null, 50n],
      ['b', 30n],
      ['e', 29n],
    ],
  )
  assert.deepEqual(effects(many), {
    a: ['send', 10n, 'b'],
    c: ['send', 80n, 'b'],
    d: ['send', 20n, 'b'],
    b: ['receive', 30n, 'c'],
    e: ['receive', 29n, 'c'],
  })
})

test('of equal amounts the first counts, also if an address occurs several times', () => {
  const outputs: [string, bigint][] = [
    ['b', 5n],
    ['e', 5n],
    ['b', 9n],
    ['f', 9n],
    ['e', 5n],
  ]
  const sent = parsed(
    [
      ['a', 100n],
      ['b', 90n],
      ['f', 80n],
    ],
    outputs,
  )
  assert.deepEqual(effects(sent), {
    a: ['send', 100n, 'b'],
    b: ['send', 76n, 'f'],
    f: ['send', 71n, 'b'],
    e: ['receive', 10n, 'a'],
  })
})

test('twice as many addresses take twice as many steps, not four times', () => {
  const steps = (count: number) => {
    let reads = 0
    const transaction = parsed(
      Array.from({ length: count }, (_, n) => [`in${n}`, 100n]),
      Array.from({ length: count }, (_, n) => [`out${n}`, 90n]),
    )
    const counted = <T extends object>(cell: T) =>
      new Proxy(cell, {
        get(target, name) {
          reads++
          return Reflect.get(target, name)
        },
      })
    const { inputs, outputs } = transaction
    movementsOf({ ...transaction, inputs: inputs.map(counted), outputs: outputs.map(counted) })
    return reads
  }
  const [some, twice] = [steps(200), steps(400)]
  assert.ok(twice <= some * 2.1, `${some} and ${twice} reads`)
})

test('an address on both sides gains or loses the difference', () => {
  const joint = parsed(
    [
      ['a', 40n],
      ['b', 60n],
    ],
    [
      ['a', 70n],
      ['b', 25n],
    ],
  )
  assert.deepEqual(effects(joint), { a: ['receive', 30n, 'b'], b: ['send', 35n, 'a'] })
})

test('a coinbase and unknown inputs have no fee and no counterparty', () => {
  const coinbase = parsed([], [['m', 500n]])
  assert.deepEqual(effects(coinbase), { m: ['receive', 500n, null] })
  assert.equal(feeOf(coinbase), null)
  const unknown = parsed([[null, null]], [['b', 5n]])
  assert.deepEqual(effects(unknown), { b: ['receive', 5n, null] })
  assert.equal(feeOf(unknown), null)
})

test('a loss is a send, whoever signed', () => {
  const outputs: [string, bigint][] = [['b', 60n]]
  for (const signed of [false, null]) {
    assert.deepEqual(effects(parsed([['a', 100n, signed]], outputs)).a, ['send', 100n, 'b'])
    // Spent without a key, but the address gains, or receives everything back.
    const raised = parsed(
      [
        ['a', 100n, signed],
        ['c', 60n],
      ],
      [['a', 120n]],
    )
    assert.deepEqual(effects(raised).a, ['receive', 20n, 'c'])
    assert.deepEqual(effects(parsed([['a', 100n, signed]], [['a', 90n]])).a, ['self', 10n, null])
  }
  const one: Cell[] = [
    ['a', 100n, null],
    ['a', 5n, true],
  ]
  assert.deepEqual(effects(parsed(one, outputs)).a, ['send', 105n, 'b'])
})
