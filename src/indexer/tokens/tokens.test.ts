/**
 * Tokens against an independent computation. Random transactions go through the parser, the rules and a real store
 * while the chain is reorganised at random; the store's result is compared with a plain walk over the chain's
 * transactions.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOfScript, envelope, push, scriptOfProgram } from '../../../test/fakes/krc20-scripts.ts'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import { kaspaFixture, skipWithoutKaspa } from '../../../test/kaspa-fixtures.ts'
import { encodeAddress } from '../../core/chain/address.ts'
import { NATIVE_SUBNETWORK, type SpentOutput, type Transaction } from '../../core/chain/transaction.ts'
import { parseTransaction } from '../../parser/parse-transaction.ts'
import type { ChainStores } from '../../store/chain.ts'
import { block, hash, payment } from '../../store/conformance/chain-engine.ts'
import { type Random, seeded } from '../../store/conformance/engine.ts'
import { ENGINES } from '../../store/conformance/engines.ts'
import { holderOfKey, type TokenFacts } from '../../store/tokens.ts'
import { feeOf } from '../index-address.ts'
import { readTokens, type TokenTransaction } from './index-tokens.ts'

const NETWORK = 'testnet-10'
const KAS = 100_000_000n
const SEED = Number(process.env.TAPELINE_SOAK ? Date.now() % 1_000_000 : 20_261_116)
const STEPS = process.env.TAPELINE_SOAK ? 2_000 : 60

const PEOPLE: readonly Person[] = [
  ...[1, 2, 3].map((n) => {
    const payload = Buffer.alloc(32, n)
    return {
      address: encodeAddress({ prefix: 'kaspatest', version: 0, payload }),
      script: `20${payload.toString('hex')}ac`,
    }
  }),
  severalKeys(`5220${'04'.repeat(32)}20${'05'.repeat(32)}52ae`),
]

interface Person {
  readonly address: string
  readonly script: string
  /** Several keys sign a program with the operation; a single key writes it into the payload. */
  readonly keys?: string
}

function severalKeys(keys: string): Person {
  const script = scriptOfProgram(keys)
  return { address: addressOfScript(script), script, keys }
}

/** A transaction of one person that carries an operation. */
function operation(n: number, by: number, members: Record<string, string>, fee: bigint): TokenTransaction {
  const { script = '', keys } = PEOPLE[by] ?? {}
  const program = keys === undefined ? null : envelope(keys, members)
  const transaction: Transaction = {
    version: 0,
    inputs: [
      {
        previousOutpoint: { transactionId: hash(900_000 + n), index: 0 },
        signatureScript: `41${'00'.repeat(65)}${program === null ? '' : push(program)}`,
        sequence: 0n,
        sigOpCount: 1,
        computeBudget: 0,
      },
    ],
    outputs: [{ value: KAS, scriptPublicKey: `0000${script}`, covenant: null }],
    lockTime: 0n,
    subnetworkId: NATIVE_SUBNETWORK,
    gas: 0n,
    payload: program === null ? Buffer.from(JSON.stringify({ p: 'krc-20', ...members })).toString('hex') : '',
    storageMass: 0n,
  }
  const spentScript = `0000${program === null ? script : scriptOfProgram(program)}`
  const spent: SpentOutput[] = [
    {
      amount: KAS + fee,
      scriptPublicKey: spentScript,
      covenantId: null,
      isCoinbase: false,
      blockDaaScore: null,
    },
  ]
  const parsed = parseTransaction(transaction, { network: NETWORK, spent, txId: hash(n) })
  return { parsed, spent, fee: feeOf(parsed), blockTimeMs: n }
}

interface Drawn {
  readonly n: number
  readonly by: number
  readonly members: Record<string, string>
  readonly fee: bigint
}

interface DrawnBlock {
  readonly hash: string
  readonly score: number
  readonly drawn: readonly Drawn[]
}

function draw(n: number, random: Random): Drawn {
  const by = random.below(PEOPLE.length)
  const tick = random.pick(['AAAA', 'BBBB', 'USDT'])
  const to = random.pick(PEOPLE).address
  const amt = String(1 + random.below(400))
  const members = random.pick<Record<string, string>>([
    { op: 'deploy', tick, max: '1000', lim: '300', ...(random.below(2) === 0 ? { pre: '250' } : {}) },
    { op: 'mint', tick: tick.toLowerCase() },
    { op: 'mint', tick, to },
    { op: 'transfer', tick, amt, to },
    { op: 'transfer', tick, amt, to },
    { op: 'burn', tick, amt },
    { op: 'chown', tick, to },
    { op: 'transfer', tick, amt: '0', to },
  ])
  const needed = members.op === 'deploy' ? 1_000n * KAS : members.op === 'mint' ? KAS : 0n
  return { n, by, members, fee: random.below(5) === 0 ? 10_000n : needed + 10_000n }
}

/** The rules in their plainest form. */
function walk(chain: readonly Drawn[]) {
  const tokens = new Map<
    string,
    { max: bigint; lim: bigint; minted: bigint; burned: bigint; owner: string }
  >()
  const held = new Map<string, Map<string, bigint>>()
  const give = (tick: string, who: string, amount: bigint) => {
    const of = held.get(tick) ?? new Map<string, bigint>()
    held.set(tick, of.set(who, (of.get(who) ?? 0n) + amount))
  }
  for (const { by, members, fee } of chain) {
    const tick = (members.tick ?? '').toUpperCase()
    const sender = PEOPLE[by]?.address ?? ''
    const token = tokens.get(tick)
    const amount = BigInt(members.amt ?? 0)
    const own = held.get(tick)?.get(sender) ?? 0n
    if (members.op === 'deploy') {
      if (token !== undefined || tick === 'USDT' || fee < 1_000n * KAS) continue
      const pre = BigInt(members.pre ?? 0)
      tokens.set(tick, { max: 1_000n, lim: 300n, minted: pre, burned: 0n, owner: sender })
      if (pre > 0n) give(tick, sender, pre)
    } else if (token === undefined) {
      // A token that was not deployed since the index began is unknown from then on.
      tokens.set(tick, { max: -1n, lim: 0n, minted: 0n, burned: 0n, owner: '' })
    } else if (token.max < 0n) {
    } else if (members.op === 'mint') {
      const left = token.max - token.minted
      if (left <= 0n || fee < KAS) continue
      const given = left < token.lim ? left : token.lim
      token.minted += given
      give(tick, members.to ?? sender, given)
    } else if (members.op === 'transfer') {
      if (amount <= 0n || own < amount || members.to === sender) continue
      give(tick, sender, -amount)
      give(tick, members.to ?? '', amount)
    } else if (members.op === 'burn') {
      if (own < amount || token.owner !== sender) continue
      give(tick, sender, -amount)
      token.burned += amount
    } else if (members.op === 'chown' && token.owner === sender) token.owner = members.to ?? ''
  }
  return { tokens, held }
}

async function compare({ chain: store }: ChainStores, chain: readonly Drawn[]): Promise<void> {
  const { tokens, held } = walk(chain)
  const listed = (await store.tokens({ limit: 100 })).tokens
  assert.deepEqual(
    listed.map(({ token }) => token),
    [...tokens.keys()].sort(),
  )
  for (const { token, value } of listed) {
    const facts = JSON.parse(value) as TokenFacts
    const truth = tokens.get(token)
    assert.equal(facts.history, truth !== undefined && truth.max < 0n ? 'unknown' : 'since_deploy')
    const { krc20 } = facts
    if (krc20 !== undefined)
      assert.deepEqual(
        [krc20.minted, krc20.burned, krc20.owner],
        [String(truth?.minted), String(truth?.burned), truth?.owner],
      )
    const { holders } = await store.tokenHolders({ token, limit: 100 })
    const found = holders.map(({ key, value: text }) => {
      const { balance } = JSON.parse(text) as { balance: string }
      return [holderOfKey(key), BigInt(balance)] as const
    })
    const expected = [...(held.get(token) ?? [])].filter(([, amount]) => amount > 0n)
    assert.deepEqual(new Map(found), new Map(expected), `holders of ${token}`)
    assert.ok(found.every(([, amount], at) => at === 0 || amount <= (found[at - 1]?.[1] ?? 0n)))
    assert.equal(facts.holders, expected.length, `number of holders of ${token}`)
  }
}

/** All tokens and holders as they are stored. */
async function everything(store: ChainStores['chain']) {
  const { tokens } = await store.tokens({ limit: 100 })
  const holders = tokens.map(({ token }) => store.tokenHolders({ token, limit: 100 }))
  return { tokens, holders: await Promise.all(holders) }
}

/** The content of an index that has seen only the blocks of the current chain. */
async function freshIndex(
  place: ReturnType<(typeof ENGINES)[number]['create']>,
  blocks: readonly DrawnBlock[],
) {
  const stores = await place.open(manualClock(0)).chain('test')
  const { chain: store } = stores
  await store.write({ atMs: 0, expects: null, start: block(1) })
  let expects = hash(1)
  for (const one of blocks) {
    const transactions = one.drawn.map((drawn) => operation(drawn.n, drawn.by, drawn.members, drawn.fee))
    const apply = await readTokens(transactions, { store, network: NETWORK, without: [] })
    const written = transactions.map((transaction) => ({
      ...payment(Number.parseInt(transaction.parsed.tx_id, 16), 1, 1n),
      tokens: apply(transaction).changes,
    }))
    const added = { hash: one.hash, blueScore: one.score, daaScore: one.score, timeMs: one.score }
    await store.write({ atMs: 1, expects, added: [{ ...added, transactions: written }] })
    expects = one.hash
  }
  const found = await everything(store)
  await stores.close()
  await place.remove()
  return found
}

for (const { name, create } of ENGINES) {
  test(`${name}: balances are those of a plain walk over the chain and of a fresh index, through reorganisations (seed ${SEED})`, async (t) => {
    const place = create()
    const stores = await place.open(manualClock(0)).chain('test')
    t.after(async () => {
      await stores.close()
      await place.remove()
    })
    const random = seeded(SEED)
    const { chain: store } = stores
    await store.write({ atMs: 0, expects: null, start: block(1) })
    let blocks: DrawnBlock[] = []
    let [n, score, reorganisations] = [10, 1, 0]
    for (let step = 0; step < STEPS; step++) {
      const leaving = random.below(4) === 0 ? random.below(Math.min(8, blocks.length) + 1) : 0
      const removed = blocks.slice(blocks.length - leaving).reverse()
      if (leaving > 0) reorganisations++
      const expects = blocks.at(-1)?.hash ?? hash(1)
      blocks = blocks.slice(0, blocks.length - leaving)
      const undone = removed.flatMap(({ drawn }) => drawn)
      const added = Array.from({ length: 1 + random.below(3) }, () => {
        // Some transactions of the removed blocks are accepted again, in another order.
        const again = undone.splice(random.below(undone.length + 1), random.below(3))
        const drawn = [...again, ...Array.from({ length: random.below(4) }, () => draw(n++, random))]
        score += 1 + random.below(3)
        return { hash: hash(500_000 + n++), score, drawn }
      })
      const transactions = added.map(({ drawn }) =>
        drawn.map((one) => operation(one.n, one.by, one.members, one.fee)),
      )
      const without = removed.map((one) => one.hash)
      const apply = await readTokens(transactions.flat(), { store, network: NETWORK, without })
      await store.write({
        atMs: step,
        expects,
        removed: without,
        added: added.map((one, at) => ({
          hash: one.hash,
          blueScore: one.score,
          daaScore: one.score,
          timeMs: one.score,
          transactions: (transactions[at] ?? []).map((transaction) => ({
            ...payment(Number.parseInt(transaction.parsed.tx_id, 16), 1, 1n),
            tokens: apply(transaction).changes,
          })),
        })),
      })
      blocks.push(...added)
      if (step % 5 === 0)
        await compare(
          stores,
          blocks.flatMap(({ drawn }) => drawn),
        )
    }
    await compare(
      stores,
      blocks.flatMap(({ drawn }) => drawn),
    )
    assert.ok(reorganisations > STEPS / 10)
    assert.deepEqual(await everything(store), await freshIndex(create(), blocks))
  })
}

for (const { name, create } of ENGINES) {
  test(`${name}: a character zero in an operation does not stop the index, and the operation does what it says otherwise`, async (t) => {
    const place = create()
    const stores = await place.open(manualClock(0)).chain('test')
    t.after(async () => {
      await stores.close()
      await place.remove()
    })
    const { chain: store } = stores
    const fee = 1_000n * KAS
    const members: Record<string, string>[] = [
      { op: 'deploy', tick: 'AAAA', max: '1000', lim: '300', pre: '0\0' },
      { op: 'deploy', tick: 'CCCC', max: '1000', lim: '300', to: 'nobody\0' },
      { op: 'deploy', tick: 'AA\0A', max: '1000', lim: '300' },
      { op: 'deploy', mod: 'issue', name: 'AAA\0', max: '1000' },
      { op: 'mint', tick: 'AAAA', memo: 'a\0b' },
      { op: 'mint', tick: 'AAAA', to: `${PEOPLE[1]?.address}\0` },
      { op: 'burn', tick: 'AAAA', amt: '5', to: '\0' },
      { op: 'burn', tick: 'BBBB', amt: '5', to: '\0' },
      { op: 'transfer', ca: `${hash(1)}\0`, amt: '5', to: PEOPLE[1]?.address ?? '' },
      { op: 'm\0int', tick: 'AAAA' },
    ]
    const transactions = [0, 3].flatMap((by) =>
      members.map((each, at) => operation(10 + by * 100 + at, by, each, fee)),
    )
    const apply = await readTokens(transactions, { store, network: NETWORK, without: [] })
    const written = transactions.map((transaction) => ({
      ...payment(Number.parseInt(transaction.parsed.tx_id, 16), 1, 1n),
      parsed: JSON.stringify(transaction.parsed, (_, value) =>
        typeof value === 'bigint' ? String(value) : value,
      ),
      tokens: apply(transaction).changes,
    }))
    await store.write({ atMs: 0, expects: null, start: block(1) })
    await store.write({ atMs: 1, expects: hash(1), added: [{ ...block(2), transactions: written }] })
    const { tokens } = await store.tokens({ limit: 10 })
    assert.deepEqual(
      tokens.map(({ token, value }) => [token, (JSON.parse(value) as TokenFacts).krc20?.minted]),
      [
        ['AAAA', '600'],
        ['BBBB', undefined],
      ],
    )
    const stored = await store.transaction(hash(14))
    assert.ok(stored?.parsed.includes('"memo":"a\\u0000b"'), String(stored?.parsed))
    assert.equal(await store.token('AA\0A'), undefined)
    assert.deepEqual((await store.tokenHolders({ token: 'AAAA\0', limit: 10 })).holders, [])
    const after = { place: '~\0', key: '\0' }
    assert.equal((await store.tokenHolders({ token: 'AAAA', limit: 10, after })).holders.length, 2)
    assert.equal((await store.tokens({ limit: 10, after: 'AAAA\0' })).tokens.length, 1)
  })
}

interface WorkedExample {
  covenant_id: string
  events: { txid: string; kind: string }[]
  utxos: {
    txid: string
    output_index: number
    value: number
    spk_script: string
    spent_txid: string | null
    spent_sig: string
  }[]
}

test('a covenant token of test network 10: five mints give its holder 997,347,000', {
  skip: skipWithoutKaspa,
}, async () => {
  const [engine] = ENGINES
  assert.ok(engine)
  const place = engine.create()
  const stores = await place.open(manualClock(0)).chain('test')
  const { chain: store } = stores
  const history = kaspaFixture<WorkedExample>('covenant/kcc20_worked_example.tn10.json')
  await store.write({ atMs: 0, expects: null, start: block(1) })
  let expects = hash(1)
  const amounts: (string | undefined)[] = []
  for (const [step, { txid }] of history.events.entries()) {
    const inputs = history.utxos.filter((utxo) => utxo.spent_txid === txid)
    const outputs = history.utxos.filter((utxo) => utxo.txid === txid)
    const transaction: Transaction = {
      version: 1,
      inputs: inputs.map((utxo) => ({
        previousOutpoint: { transactionId: utxo.txid, index: utxo.output_index },
        signatureScript: utxo.spent_sig,
        sequence: 0n,
        sigOpCount: 0,
        computeBudget: 100,
      })),
      outputs: outputs.map((utxo) => ({
        value: BigInt(utxo.value),
        scriptPublicKey: `0000${utxo.spk_script}`,
        covenant: { authorizingInput: 0, covenantId: history.covenant_id },
      })),
      lockTime: 0n,
      subnetworkId: NATIVE_SUBNETWORK,
      gas: 0n,
      payload: '',
      storageMass: 0n,
    }
    const spent = inputs.map(
      (utxo): SpentOutput => ({
        amount: BigInt(utxo.value),
        scriptPublicKey: `0000${utxo.spk_script}`,
        covenantId: history.covenant_id,
        isCoinbase: false,
        blockDaaScore: null,
      }),
    )
    const parsed = parseTransaction(transaction, { network: 'testnet-10', spent, txId: txid })
    const token = { parsed, spent, fee: null, blockTimeMs: step }
    const apply = await readTokens([token], { store, network: 'testnet-10', without: [] })
    const { changes, moves } = apply(token)
    const added = { ...block(10 + step), transactions: [{ ...payment(step, 1, 1n), tokens: changes }] }
    await store.write({ atMs: step, expects, added: [added] })
    expects = added.hash
    amounts.push(moves[0]?.to.find(({ holder }) => holder?.startsWith('kaspatest:'))?.amount?.toString())
  }
  assert.deepEqual(
    amounts,
    [undefined, 1, 2, 3, 4, 5].map((n) => n && String(199_469_400 * n)),
  )
  const { holders } = await store.tokenHolders({ token: history.covenant_id, limit: 10 })
  assert.deepEqual(
    holders.map(({ value }) => JSON.parse(value) as unknown),
    [
      { balance: '997347000', locked: '0', outputs: 1 },
      { balance: '0', locked: '0', outputs: 1 },
    ],
  )
  const facts = JSON.parse((await store.token(history.covenant_id)) ?? '') as TokenFacts
  assert.deepEqual([facts.form, facts.proven], ['kcc20', { amount: '997347000', outputs: 2 }])
  await stores.close()
  await place.remove()
})
