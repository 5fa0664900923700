/**
 * Programs that were seen on chain or dumped by the compiler, against hand-written expectations for each family. False
 * positives and negatives are counted and reported.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { kaspaFixture, skipWithoutKaspa } from '../../test/kaspa-fixtures.ts'
import { bytesOfHex } from '../core/chain/hex.ts'
import { NATIVE_SUBNETWORK, type SpentOutput, type Transaction } from '../core/chain/transaction.ts'
import { type ParsedTransaction, parseTransaction, type Tag } from './parse-transaction.ts'

const TOKEN_ID = '02035650863ad9c3ac6f75a074223bf792b1bb45eac92eac8e0597bf84cb072f'
const PAY = `000020${'7b'.repeat(32)}ac`

function pushHex(hex: string): string {
  const length = hex.length / 2
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16LE(length)
  return `4d${bytes.toString('hex')}${hex}`
}

/** A transaction whose inputs carry these signature scripts and whose outputs continue one covenant. */
function spending(signatureScripts: string[], outputs: string[], covenantId: string): Transaction {
  return {
    version: 1,
    inputs: signatureScripts.map((signatureScript, index) => ({
      previousOutpoint: { transactionId: 'cc'.repeat(32), index },
      signatureScript,
      sequence: 0n,
      sigOpCount: 0,
      computeBudget: 100,
    })),
    outputs: outputs.map((scriptPublicKey) => ({
      value: 100_000_000n,
      scriptPublicKey,
      covenant: { authorizingInput: 0, covenantId },
    })),
    lockTime: 0n,
    subnetworkId: NATIVE_SUBNETWORK,
    gas: 0n,
    payload: '',
    storageMass: 0n,
  }
}

/** One revealed program with one argument, continuing a covenant. */
function run(program: string): ParsedTransaction {
  return parseTransaction(spending([`51${pushHex(program)}`], [PAY], TOKEN_ID), { network: 'testnet-10' })
}

/** The traits of each family: runs covenant instructions, keeps a KCC-20 state, was compiled from SilverScript. */
const FAMILIES: [family: RegExp, programs: number, covenant: boolean, token: boolean, compiled: boolean][] = [
  [/^g0_(buy|list)_v[12]_[ab]\.bin$/, 8, true, false, false],
  [/^g0_col_[ab]\.bin$/, 2, true, false, false],
  [/^kcc20_[abc]_[ab]\.bin$/, 6, true, true, true],
  // A controller that carries the token's template as data. The protocol recognises a token by a program that starts
  // with the state block; this one starts with a check of its covenant id, so the token tag would be wrong.
  [/^kcc20_minter_[ab]\.bin$/, 2, true, false, false],
  [/^kcc20_unguarded_kron\.bin$/, 1, true, true, true],
  [/^kcm_order_.*\.bin$/, 3, true, false, true],
  [/^pure_[ab]\.bin$/, 2, true, false, false],
  [/^slot_mint_.*\.bin$/, 4, true, false, false],
]

test('every compiled program gets the tags of its family', { skip: skipWithoutKaspa }, (t: TestContext) => {
  const programs = Object.entries(
    kaspaFixture<Record<string, string>>('covenant/compiled-covenant-programs.json'),
  )
  const counts = new Map<Tag, { hits: number; falsePositives: string[]; falseNegatives: string[] }>()
  let matched = 0
  for (const [family, size, covenant, token, compiled] of FAMILIES) {
    const members = programs.filter(([name]) => family.test(name))
    assert.equal(members.length, size, String(family))
    matched += members.length
    for (const [name, hex] of members) {
      const parsed = run(hex)
      const found: [Tag, boolean, boolean][] = [
        ['covenant_execution', covenant, parsed.details.covenant_execution?.programs.length === 1],
        ['native_asset', token, parsed.tags.includes('native_asset')],
        ['scriptlang', compiled, parsed.tags.includes('scriptlang')],
      ]
      for (const [tag, expected, actual] of found) {
        const count = counts.get(tag) ?? { hits: 0, falsePositives: [], falseNegatives: [] }
        if (expected && actual) count.hits++
        else if (actual) count.falsePositives.push(name)
        else if (expected) count.falseNegatives.push(name)
        counts.set(tag, count)
      }
    }
  }
  assert.equal(matched, programs.length)
  for (const [tag, { hits, falsePositives, falseNegatives }] of counts) {
    t.diagnostic(
      `${tag}: ${hits} found, ${falsePositives.length} false positives, ${falseNegatives.length} false negatives`,
    )
  }
  assert.deepEqual(Object.fromEntries(counts), {
    covenant_execution: { hits: 28, falsePositives: [], falseNegatives: [] },
    native_asset: { hits: 7, falsePositives: [], falseNegatives: [] },
    scriptlang: { hits: 10, falsePositives: [], falseNegatives: [] },
  })
})

test('only the frame of the compiler is more than a hint', { skip: skipWithoutKaspa }, () => {
  const programs = kaspaFixture<Record<string, string>>('covenant/compiled-covenant-programs.json')
  const evidence = (name: string) => {
    const [program] = run(programs[name] ?? '').details.scriptlang?.programs ?? []
    return [program?.evidence, program?.confidence, program?.entry]
  }
  assert.deepEqual(evidence('kcc20_b_a.bin'), ['frame', 'likely', 1])
  assert.deepEqual(evidence('kcm_order_v1.bin'), ['frame', 'likely', 1])
  assert.deepEqual(evidence('kcc20_unguarded_kron.bin'), ['token_state', 'hint', null])
})

test('the frame counts as instructions, not as bytes, and without its end it is a hint', () => {
  const frame = '6b01116c76009c63755167'
  const whole = `${frame}76519c63755167750069${'68'.repeat(2)}`
  const scriptlang = (program: string) => run(program).details.scriptlang?.programs[0]?.confidence
  assert.equal(scriptlang(whole), 'likely')
  assert.equal(scriptlang(`6b6c76009c6375516776519c637551676a6868`), 'likely')
  assert.equal(scriptlang(`${whole}75`), 'hint')
  assert.equal(scriptlang(`${pushHex(whole)}75`), undefined)
  assert.equal(scriptlang(`51${whole}`), undefined)
  assert.equal(scriptlang('6b6c76519c637551676a6868'), undefined)
})

interface WorkedExample {
  covenant_id: string
  utxos: {
    txid: string
    output_index: number
    value: number
    spk_script: string
    spent_txid: string
    spent_sig: string
  }[]
}

test('the history of one token: five mints, each step verified against the spent script', {
  skip: skipWithoutKaspa,
}, () => {
  const history = kaspaFixture<WorkedExample>('covenant/kcc20_worked_example.tn10.json')
  assert.equal(history.covenant_id, TOKEN_ID)
  const controller = '138d5802d862b20bd6170799ed5a8213fe7634fe152f43bbf5e304ee0e689d68'
  const holder = '25d584143452fe546f9f49fd95cabe10f18eec688faaede921fcc664f330bb72'
  const steps = [
    'da6c250c2f50f5a7f60d8b4e698fd13dca1a42b5cb60f68ff5e973915fee039f',
    '2fe4ba4998447fdb51a3ebcf03f186208819484c40751fc36df5b4a35a2e27bc',
    '5dbf62dc6496161fa8692edd795246171ac342c6bd20b51960f5401f97022309',
    'd268ca970793081aa260dbcc6db504657bbe461664abf3e3ce04ce434f7ff959',
    'e386469cb9c2e3dc550454d9f60b945fc526c242f21b8c9fe83f2f8123e8658b',
  ]
  for (const [minted, txId] of steps.entries()) {
    const inputs = history.utxos.filter((utxo) => utxo.spent_txid === txId)
    const outputs = history.utxos.filter((utxo) => utxo.txid === txId)
    const spent = inputs.map(
      (utxo): SpentOutput => ({
        amount: BigInt(utxo.value),
        scriptPublicKey: `0000${utxo.spk_script}`,
        covenantId: TOKEN_ID,
        isCoinbase: false,
        blockDaaScore: null,
      }),
    )
    const parsed = parseTransaction(
      spending(
        inputs.map((utxo) => utxo.spent_sig),
        outputs.map((utxo) => `0000${utxo.spk_script}`),
        TOKEN_ID,
      ),
      { network: 'testnet-10', spent, txId },
    )
    assert.equal(parsed.tx_id, txId)
    assert.deepEqual(parsed.tags, ['covenant', 'covenant_execution', 'native_asset', 'scriptlang'])
    assert.equal(parsed.details.covenant_execution?.confidence, 'certain')
    assert.ok(
      parsed.details.covenant_execution?.programs.every((program) => program.confidence === 'certain'),
    )
    const minter = {
      input: 0,
      owner: controller,
      owner_type: 'covenant',
      amount: 0n,
      is_minter: true,
      signed: null,
    }
    const balance = {
      input: 1,
      owner: holder,
      owner_type: 'pubkey',
      amount: 199_469_400n * BigInt(minted),
      is_minter: false,
      // The first program requires the signature of every owner that is a key.
      signed: true,
    }
    assert.deepEqual(
      parsed.details.native_asset?.assets[0]?.inputs,
      minted === 0 ? [minter] : [minter, balance],
    )
    // The first program commits to no key, and the second only requires that it is not the first.
    assert.ok(parsed.inputs.every(({ signed }) => signed === null))
    const next = { form: 'kcc20', owner: holder, owner_type: 'pubkey', is_minter: false }
    assert.deepEqual(parsed.details.native_asset?.assets[0]?.states, [
      { form: 'kcc20', index: 0, owner: controller, owner_type: 'covenant', amount: 0n, is_minter: true },
      { ...next, index: 1, amount: 199_469_400n * BigInt(minted + 1) },
    ])
    assert.deepEqual(
      parsed.details.scriptlang?.programs.map((program) => program.entry),
      minted === 0 ? [0] : [0, 1],
    )
  }
})

test('a signature script with one changed byte no longer proves its program', {
  skip: skipWithoutKaspa,
}, () => {
  const [utxo] = kaspaFixture<WorkedExample>('covenant/kcc20_worked_example.tn10.json').utxos
  assert.ok(utxo)
  const bytes = bytesOfHex(utxo.spent_sig)
  bytes[bytes.length - 1] = 0x69
  const spent: SpentOutput = {
    amount: 1n,
    scriptPublicKey: `0000${utxo.spk_script}`,
    covenantId: TOKEN_ID,
    isCoinbase: false,
    blockDaaScore: null,
  }
  const changed = spending([Buffer.from(bytes).toString('hex')], [PAY], TOKEN_ID)
  const parsed = parseTransaction(changed, { network: 'testnet-10', spent: [spent] })
  assert.deepEqual(parsed.tags, ['covenant', 'covenant_execution'])
  assert.deepEqual(parsed.details.covenant_execution?.programs, [])
})
