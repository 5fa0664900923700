/** What a node refuses, with the node's original texts, and what happens to accepted transactions. */
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { Chain } from './chain.ts'
import { chainOptions } from './chain-options.ts'
import { payToScriptHash } from './consensus/address.ts'
import { genesisCovenantId } from './consensus/hashing.ts'
import { parseOutpointKey, type Tx, type TxOutput } from './consensus/model.ts'
import { sealTransaction, TxRefusal } from './consensus/validate.ts'
import { estimateFees } from './fee-estimate.ts'
import { Mempool } from './mempool.ts'
import { krc20Envelope, vaultCovenant } from './traffic/programs.ts'
import { type Coin, pay, sign, type Wallet } from './traffic/wallet.ts'

let chain: Chain
let pool: Mempool
let user: Wallet
let other: Wallet

const limits = { maxTransactions: 50, maxOrphans: 5, orphanLifeDaa: 20, acceptedMemoryDaa: 30 }

beforeEach(() => {
  chain = new Chain(
    chainOptions(
      {
        seed: 4,
        transactionsPerSecond: 0,
        warmUpBlocks: 5,
        reorgsPerMinute: 0,
        parallelRate: 0,
        lateRate: 0,
      },
      1_760_000_000_000,
    ),
  )
  pool = new Mempool({ ledger: () => chain.ledger, limits })
  const [first, second] = chain.users
  assert.ok(first && second)
  user = first
  other = second
})

const coins = (owner: Wallet, count = 1, skip = 0): Coin[] =>
  [...chain.ledger.utxos.ofScript(owner.script)]
    .slice(skip, skip + count)
    .map(([key, entry]) => ({ key, entry, owner }))
const out = (value: bigint, scriptPublicKey: string): TxOutput => ({ value, scriptPublicKey, covenant: null })
const transfer = (options: { from?: Coin[]; feerate?: number; value?: bigint; version?: 0 | 1 } = {}): Tx => {
  const from = options.from ?? coins(user)
  const outputs = [out(options.value ?? 2_000_000_000n, other.script)]
  const tx = pay({
    version: options.version ?? 0,
    coins: from,
    outputs,
    change: user.script,
    feerate: options.feerate ?? 100,
  })
  assert.ok(tx)
  return tx
}
const STRICT = { allowOrphan: false, replace: 'forbidden', trusted: false } as const
const refusal = (tx: Tx, rules: Partial<Parameters<Mempool['submit']>[1]> = {}): string => {
  try {
    pool.submit(tx, { ...STRICT, ...rules })
  } catch (error) {
    if (error instanceof TxRefusal) return error.message
    throw error
  }
  return 'accepted'
}

test('a valid payment is taken once; its repetition and its rival are refused by name', () => {
  const tx = transfer()
  assert.equal(refusal(tx), 'accepted')
  assert.equal(refusal(tx), `transaction ${tx.id} is already in the mempool`)
  const rival = transfer({ feerate: 300 })
  const spent = tx.inputs[0]?.previousOutpoint
  assert.equal(
    refusal(rival),
    `output (${spent?.transactionId}, ${spent?.index}) already spent by transaction ${tx.id} in the mempool`,
  )
})

test('after its block a transaction is remembered as accepted, for a while', () => {
  const tx = transfer()
  pool.submit(tx, STRICT)
  chain.submit(tx, { replace: 'forbidden', allowOrphan: true, trusted: true })
  chain.dwellBlocks = 0
  chain.on((event) => {
    if (event.kind === 'block')
      pool.apply({ ...noChange(), block: event.block, virtualDaaScore: chain.ledger.virtual.daaScore })
  })
  chain.step()
  chain.step()
  assert.equal(pool.size, 0)
  assert.equal(refusal(tx), `transaction ${tx.id} was already accepted by the consensus`)
  for (let i = 0; i < 40; i++) chain.step()
  assert.equal(refusal(tx), `transaction ${tx.id} is an orphan where orphan is disallowed`)
})

const noChange = () => ({
  removedChain: [],
  addedChain: [],
  utxos: { added: [], removed: [] },
  sinkBlueScore: 0n,
})

test('a changed signature, a foreign signature and an empty one are refused', () => {
  const tx = transfer()
  const [input] = tx.inputs
  assert.ok(input)
  const script = input.signatureScript
  const flipped = script.slice(0, 30) + (script[30] === '0' ? '1' : '0') + script.slice(31)
  const seal = (signatureScript: string) =>
    sealTransaction({ ...tx, inputs: [{ ...input, signatureScript }] })
  assert.match(refusal(seal(flipped)), /^failed to verify the signature script: false stack entry/)
  assert.match(refusal(seal('')), /^failed to verify empty signature script/)
  const [coin] = coins(user)
  assert.ok(coin)
  const foreign = sign(structuredClone({ ...tx }), [{ ...coin, owner: other }])
  assert.match(refusal(foreign), /^failed to verify the signature script/)
})

test('a fee under the floor is refused with the required amount', () => {
  const tx = transfer({ feerate: 99 })
  assert.equal(
    refusal(tx),
    `transaction ${tx.id} is not standard: transaction has ${Math.ceil(2036 * 99)} fees which is under the required amount of 203600 for compute mass 2036`,
  )
})

test('many small outputs are refused for their storage mass', () => {
  assert.match(
    refusal(transfer({ value: 1_000_000n })),
    /^transaction storage mass of \d+ is larger than max allowed size of 500000$/,
  )
})

test('unknown inputs make an orphan; it joins when its parent comes', () => {
  const parent = transfer()
  const child = pay({
    version: 0,
    coins: [
      {
        key: `${parent.id}:1`,
        entry: {
          amount: parent.outputs[1]?.value ?? 0n,
          scriptPublicKey: user.script,
          blockDaaScore: 0n,
          isCoinbase: false,
          covenantId: null,
        },
        owner: user,
      },
    ],
    outputs: [],
    change: other.script,
    feerate: 100,
  })
  assert.ok(child)
  assert.equal(refusal(child), `transaction ${child.id} is an orphan where orphan is disallowed`)
  assert.equal(refusal(child, { allowOrphan: true }), 'accepted')
  assert.equal(pool.get(child.id, { pool: false, orphans: true })?.isOrphan, true)
  assert.equal(refusal(parent), 'accepted')
  assert.equal(pool.get(child.id, { pool: true, orphans: false })?.isOrphan, false)
})

test('a replacement needs exactly one rival and a higher fee rate, and takes its descendants along', () => {
  assert.equal(
    refusal(transfer(), { replace: 'mandatory' }),
    'replace by fee found no double spending transaction in the mempool',
  )
  const first = transfer({ feerate: 150 })
  pool.submit(first, STRICT)
  assert.equal(
    refusal(transfer({ feerate: 120 }), { replace: 'mandatory' }),
    'fee rate per contextual mass gram is not greater than the fee rate of the replaced transaction',
  )
  const second = transfer({ from: coins(user, 1, 1) })
  pool.submit(second, STRICT)
  assert.equal(
    refusal(transfer({ from: coins(user, 2), feerate: 500 }), { replace: 'mandatory' }),
    'replace by fee found more than one double spending transaction in the mempool',
  )
  const better = transfer({ feerate: 200 })
  assert.equal(pool.submit(better, { ...STRICT, replace: 'mandatory' }).replaced?.id, first.id)
  assert.equal(pool.get(first.id, { pool: true, orphans: true }), undefined)
})

test('a young coinbase output cannot be spent', () => {
  const found = [...chain.ledger.utxos.entries()].find(([, entry]) => entry.isCoinbase)
  assert.ok(found)
  const [key, entry] = found
  const tx = sign(
    {
      ...structuredClone(transfer()),
      inputs: [{ ...transfer().inputs[0], previousOutpoint: parseOutpointKey(key) } as Tx['inputs'][number]],
    },
    [{ key, entry, owner: user }],
  )
  assert.match(
    refusal(tx),
    /^one of the transaction inputs spends an immature UTXO: transaction input #0 tried to spend coinbase outpoint/,
  )
})

test('spending more than the inputs hold, nothing, or the same twice is refused', () => {
  const tx = transfer()
  const [output] = tx.outputs
  const [input] = tx.inputs
  assert.ok(output && input)
  const total = coins(user)[0]?.entry.amount ?? 0n
  const greedy = sealTransaction({ ...tx, outputs: [{ ...output, value: total + 1n }] })
  assert.equal(
    refusal(greedy),
    `transaction tries to spend ${total + 1n} while its total inputs amount is ${total}`,
  )
  assert.equal(refusal(sealTransaction({ ...tx, inputs: [] })), 'transaction has no inputs')
  assert.equal(
    refusal(sealTransaction({ ...tx, inputs: [input, input] })),
    'transaction has duplicate inputs',
  )
  assert.equal(
    refusal(sealTransaction({ ...tx, outputs: [{ ...output, value: 0n }] })),
    'transaction output 0 has zero value',
  )
  const strange = sealTransaction({ ...tx, outputs: [{ ...output, scriptPublicKey: '000051' }] })
  assert.equal(
    refusal(strange),
    `transaction ${strange.id} is not standard: transaction output #0: non-standard script form`,
  )
})

test('a covenant is born only with the right id, goes on, and nobody else can take its id', () => {
  const [coin] = coins(user)
  assert.ok(coin)
  const script = payToScriptHash(vaultCovenant(user.key.publicKey))
  const output = out(1_000_000_000n, script)
  const covenantId = genesisCovenantId(parseOutpointKey(coin.key), [{ index: 0, output }])
  const make = (id: string) =>
    pay({
      version: 1,
      coins: [coin],
      outputs: [{ ...output, covenant: { authorizingInput: 0, covenantId: id } }],
      change: user.script,
      feerate: 100,
    })
  const wrong = make('ab'.repeat(32))
  const right = make(covenantId)
  assert.ok(wrong && right)
  assert.match(
    refusal(wrong),
    /^covenants error: input #0 and outputs with covenant id (ab){32} do not correspond/,
  )
  assert.equal(refusal(right), 'accepted')
})

test('a script is revealed with its key; a wrong program or too small a budget is refused', () => {
  const program = krc20Envelope(user.key.publicKey, { p: 'krc-20', op: 'mint', tick: 'TAPE' })
  const entry = {
    amount: 1_000_000_000n,
    scriptPublicKey: payToScriptHash(program),
    blockDaaScore: 1n,
    isCoinbase: false,
    covenantId: null,
  }
  const key = `${'cd'.repeat(32)}:0`
  chain.ledger.utxos.apply({ key, entry, created: true })
  const spend = (version: 0 | 1, reveal: string) => {
    const tx = pay({
      version,
      coins: [{ key, entry, owner: user, reveal: { program: reveal } }],
      outputs: [],
      change: user.script,
      feerate: 100,
    })
    assert.ok(tx)
    return tx
  }
  assert.match(
    refusal(spend(0, program.replace('54415045', '45504154'))),
    /^failed to verify the signature script: /,
  )
  const poor = spend(1, program)
  const [input] = poor.inputs
  assert.ok(input)
  const cheap = sealTransaction({ ...poor, inputs: [{ ...input, computeBudget: 2 }] })
  assert.match(
    refusal(cheap),
    /script units exceeded the amount committed in the input: used=\d+, limit=29999$/,
  )
  assert.equal(refusal(spend(0, program)), 'accepted')
})

test('a full pool lets in only what pays better than its cheapest', () => {
  const small = new Mempool({ ledger: () => chain.ledger, limits: { ...limits, maxTransactions: 2 } })
  const [a, b, c] = [0, 1, 2].map((skip) => transfer({ from: coins(user, 1, skip), feerate: 110 + skip }))
  assert.ok(a && b && c)
  small.submit(b, STRICT)
  small.submit(c, STRICT)
  assert.throws(() => small.submit(a, STRICT), /it's full with transactions with higher priority/)
})

test('fee estimates sit at the floor while all fits, and rise when a block is too small', () => {
  for (let skip = 0; skip < 8; skip++)
    pool.submit(transfer({ from: coins(user, 1, skip), feerate: 100 + 50 * skip }), STRICT)
  const idle = estimateFees(pool.ready(), { blockMass: 500_000, blocksPerSecond: 10 })
  assert.equal(idle.priorityBucket.feerate, 100)
  const busy = estimateFees(pool.ready(), { blockMass: 5_000, blocksPerSecond: 10 })
  assert.ok(busy.priorityBucket.feerate > 300, JSON.stringify(busy))
  assert.ok(busy.priorityBucket.feerate >= (busy.normalBuckets[0]?.feerate ?? 0))
  assert.equal(busy.lowBuckets[0]?.feerate, 100)
})
