/**
 * Compares what paths show with scripts that really run: random programs are signed and verified by the sandbox node's
 * engine, which shares no code with the parser. A claim is true if the spend fails without the signatures that it
 * names.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { blake2b } from '@noble/hashes/blake2.js'
import type { TxBody, UtxoEntry } from '../../../sandbox/node/consensus/model.ts'
import { verifyScripts } from '../../../sandbox/node/script/engine.ts'
import { SigHasher } from '../../../sandbox/node/script/sighash.ts'
import { signAll, signingKey } from '../../../sandbox/node/script/sign.ts'
import { push } from '../../../test/fakes/krc20-scripts.ts'
import { NATIVE_SUBNETWORK } from '../../core/chain/transaction.ts'
import { type Random, seeded } from '../../store/conformance/engine.ts'
import { parseTransaction } from '../parse-transaction.ts'
import { readPushes, readScript } from '../read-script.ts'
import { signaturePath } from './signature-path.ts'

const SEED = process.env.TAPELINE_SOAK ? Date.now() % 1_000_000 : 20_261_118
const PROGRAMS = process.env.TAPELINE_SOAK ? 2_000 : 25
const KEYS = [1, 2, 3].map((n) => signingKey(n.toString(16).padStart(64, '0')))
const [FIRST, SECOND] = KEYS.map(({ publicKey }) => publicKey)

/** An argument of a spend: bytes, or the signature of one of the keys. */
type Argument = { readonly hex: string } | { readonly signer: number }

function scriptOf(program: string): string {
  const hash = Buffer.from(blake2b(Buffer.from(program, 'hex'), { dkLen: 32 })).toString('hex')
  return `0000aa20${hash}87`
}

/** `spoiled` lists the signers whose signatures are replaced by invalid ones of the same form. */
function spend(program: string, given: readonly Argument[], spoiled: readonly number[] = []) {
  const output = { value: 1_000n, scriptPublicKey: `000020${FIRST}ac`, covenant: null }
  const input = {
    previousOutpoint: { transactionId: 'ab'.repeat(32), index: 0 },
    signatureScript: '',
    sequence: 0n,
    sigOpCount: 50,
    computeBudget: 0,
  }
  const transaction: TxBody = {
    version: 0,
    inputs: [input],
    outputs: [output, output],
    lockTime: 0n,
    subnetworkId: NATIVE_SUBNETWORK,
    gas: 0n,
    payload: '',
    storageMass: 0n,
  }
  const spent: UtxoEntry = {
    amount: 5_000n,
    scriptPublicKey: scriptOf(program),
    blockDaaScore: 1n,
    isCoinbase: false,
    covenantId: null,
  }
  const message = new SigHasher(transaction).schnorr(0, spent, 1)
  const signatures = signAll(KEYS.map((key) => ({ key, message })))
  const pushes = given.map((argument) => {
    if ('hex' in argument) return argument.hex === '' ? '00' : push(argument.hex)
    const own = spoiled.includes(argument.signer)
    const signature = own ? '11'.repeat(64) : Buffer.from(signatures[argument.signer] ?? []).toString('hex')
    return push(`${signature}01`)
  })
  input.signatureScript = `${pushes.join('')}${push(program)}`
  return { transaction, spent }
}

function isValid(program: string, given: readonly Argument[], spoiled: readonly number[] = []): boolean {
  const { transaction, spent } = spend(program, given, spoiled)
  try {
    verifyScripts(transaction, [spent])
    return true
  } catch {
    return false
  }
}

function pathOf(program: string, given: readonly Argument[]) {
  const script = readScript(Buffer.from(program, 'hex'))
  const pushes = readPushes(
    Buffer.from(spend(program, given).transaction.inputs[0]?.signatureScript ?? '', 'hex'),
  )
  assert.ok(script && pushes)
  const { transaction, spent } = spend(program, given)
  const place = { input: 0, transaction, spent: [spent], covenants: undefined }
  return signaturePath({ script, arguments: pushes.slice(0, -1) }, place)
}

const SIGNED: Argument = { signer: 0 }
const BY_SECOND: Argument = { signer: 1 }
const YES: Argument = { hex: '01' }
const NO: Argument = { hex: '' }

const CHECK_FIRST = `20${FIRST}ac`
const CHECK_SECOND = `20${SECOND}ac`
const EITHER = `63${CHECK_FIRST}67${CHECK_SECOND}68`
/** Anyone who pays the first output more than it had may spend it. */
const OWNER_OR_RAISE = `63${CHECK_FIRST}6700c2b9bea068`

const cases: [
  what: string,
  program: string,
  given: Argument[],
  signed: boolean | null,
  keys: (string | undefined)[],
][] = [
  ['one key', CHECK_FIRST, [SIGNED], true, [FIRST]],
  ['the branch of the first key', EITHER, [SIGNED, YES], true, [FIRST]],
  ['the branch of the second key', EITHER, [BY_SECOND, NO], true, [SECOND]],
  ['the owner of a covenant', OWNER_OR_RAISE, [SIGNED, YES], true, [FIRST]],
  ['two of two', `5220${FIRST}20${SECOND}52ae`, [SIGNED, BY_SECOND], true, [FIRST, SECOND]],
  ['one of two: one of them, but not which', `5120${FIRST}20${SECOND}52ae`, [BY_SECOND], true, []],
  ['none of two', `0020${FIRST}20${SECOND}52ae`, [], false, []],
  ['demanded in the middle', `20${FIRST}ad51`, [SIGNED], true, [FIRST]],
  ['both in one value', `${CHECK_FIRST}7c${CHECK_SECOND}9a`, [BY_SECOND, SIGNED], true, [FIRST, SECOND]],
  [
    'joined with its own copy, again and again',
    `${CHECK_FIRST}${'769a'.repeat(24)}6951`,
    [SIGNED],
    true,
    [FIRST],
  ],
  ['one or the other in one value', `${CHECK_FIRST}7c${CHECK_SECOND}9b`, [BY_SECOND, SIGNED], null, []],
  ['a key that the spender brings', 'ac', [SIGNED, { hex: FIRST ?? '' }], null, [FIRST]],
  ['a check whose result is dropped', `${CHECK_FIRST}7551`, [SIGNED], null, []],
  ['a check that must fail', `${CHECK_FIRST}91`, [{ hex: '' }], false, []],
  ['no key at all', '93549c', [{ hex: '01' }, { hex: '03' }], false, []],
  ['a branch by the number of outputs', `b4529c${EITHER}`, [SIGNED], true, [FIRST]],
  ['a check that decides on a branch', `${CHECK_FIRST}6351675168`, [SIGNED], null, []],
  ['a byte of its own signature script decides', `000051bc014187${EITHER}`, [SIGNED], true, [FIRST]],
  ['its length decides', `00c95aa0${EITHER}`, [SIGNED], true, [FIRST]],
  ['an amount that is paid decides', `00c202e8039c${EITHER}`, [SIGNED], true, [FIRST]],
  ['a part of joined bytes decides', `02aabb01cc7e52537f01cc87${EITHER}`, [SIGNED], true, [FIRST]],
  ['a number of some length decides', `018154cd040100008087${EITHER}`, [SIGNED], true, [FIRST]],
  ['a quotient decides', `575396529c${EITHER}`, [SIGNED], true, [FIRST]],
  // Nothing is shown after the first unknown branch, but the signatures required before it are.
  ['an amount decides, then a key', `00be02881387${EITHER}`, [SIGNED], true, [FIRST]],
  ['a time decides, then a key', `00c0519c${EITHER}`, [SIGNED], null, []],
  ['a key, then a time decides', `20${FIRST}ad00c0519c63516700 68`.replace(' ', ''), [SIGNED], true, [FIRST]],
]

for (const [what, program, given, signed, keys] of cases) {
  test(`${what}: signed is ${signed}`, () => {
    assert.ok(isValid(program, given), 'the spend is valid')
    const path = pathOf(program, given)
    assert.equal(path.signed, signed)
    assert.deepEqual([...path.keys], keys)
  })
}

test('a value may require 64 checks; one that requires more is unknown', () => {
  const path = (checks: number) =>
    pathOf(`${`76${CHECK_FIRST}7c`.repeat(checks)}75${'9a'.repeat(checks - 1)}`, [SIGNED])
  assert.deepEqual(path(64), { signed: true, keys: new Set([FIRST]) })
  assert.deepEqual(path(65), { signed: null, keys: new Set() })
})

test('a value that is longer than a key is not shown as one', () => {
  assert.deepEqual(pathOf(`22${'07'.repeat(34)}ac`, [SIGNED]).keys, new Set())
})

test('a program that anybody may use shows no signature, and the input says so', () => {
  const program = '00c200be9f69516351676a68'
  const { transaction, spent } = spend(program, [])
  verifyScripts(transaction, [spent])
  const parsed = parseTransaction(transaction, { network: 'mainnet', spent: [spent], txId: 'cd'.repeat(32) })
  assert.equal(parsed.inputs[0]?.signed, false)
  // Unknown as long as the spent output is unknown.
  assert.equal(parseTransaction(transaction, { network: 'mainnet' }).inputs[0]?.signed, null)
})

test('what is paid to a key is signed by it, ECDSA too', () => {
  const { transaction, spent } = spend('51', [])
  for (const scriptPublicKey of [`000020${FIRST}ac`, `000021${`02${FIRST}`}ab`]) {
    const entry = { ...spent, scriptPublicKey }
    const { inputs } = parseTransaction(transaction, { network: 'mainnet', spent: [entry] })
    assert.equal(inputs[0]?.signed, true)
  }
  const { inputs } = parseTransaction(transaction, {
    network: 'mainnet',
    spent: [{ ...spent, scriptPublicKey: '000051' }],
  })
  assert.equal(inputs[0]?.signed, null)
})

/** A random program that evaluates to true with its arguments, which are listed in the order in which it takes them. */
function draw(random: Random, depth: number): { program: string; takes: Argument[] } {
  const key = random.below(KEYS.length)
  const check = `20${KEYS[key]?.publicKey ?? ''}`
  const kind = random.below(depth === 0 ? 5 : 9)
  if (kind < 2) return { program: `${check}ac`, takes: [{ signer: key }] }
  if (kind === 2) return { program: random.pick(['51', '525293549c', 'b3519c', 'b9009c']), takes: [] }
  if (kind === 3) {
    const needed = 1 + random.below(KEYS.length)
    const keys = KEYS.map(({ publicKey }) => `20${publicKey}`).join('')
    const signers = [0, 1, 2].slice(0, needed).map((signer) => ({ signer }))
    return { program: `5${needed}${keys}53ae`, takes: signers.reverse() }
  }
  if (kind === 4) return { program: '00be0288139c', takes: [] }
  const inner = draw(random, depth - 1)
  const other = draw(random, depth - 1)
  if (kind === 5 || kind === 6) {
    const isFirst = random.below(2) === 0
    const [yes, no] = isFirst ? [inner, other] : [other, inner]
    const condition: Argument = random.pick(isFirst ? [YES, { hex: '0280' }] : [NO, { hex: '80' }])
    return { program: `63${yes.program}67${no.program}68`, takes: [condition, ...inner.takes] }
  }
  if (kind === 7)
    return { program: `${inner.program}69${other.program}`, takes: [...inner.takes, ...other.takes] }
  const joined = random.pick(['9a', '9b'])
  return {
    program: `${inner.program}6b${other.program}6c${joined}`,
    takes: [...inner.takes, ...other.takes],
  }
}

test(`drawn programs: what is shown to be signed cannot be spent otherwise (seed ${SEED})`, () => {
  const random = seeded(SEED)
  const seen = { true: 0, false: 0, null: 0 }
  for (let n = 0; n < PROGRAMS; n++) {
    const { program, takes } = draw(random, 3)
    const given = [...takes].reverse()
    if (!isValid(program, given)) continue
    const { signed, keys } = pathOf(program, given)
    seen[`${signed}`]++
    const everybody = KEYS.map((_, index) => index)
    if (signed === true) assert.ok(!isValid(program, given, everybody), program)
    if (signed === false) assert.ok(isValid(program, given, everybody), program)
    for (const [index, { publicKey }] of KEYS.entries())
      if (keys.has(publicKey)) assert.ok(!isValid(program, given, [index]), `${program} without ${index}`)
  }
  assert.ok(seen.true > PROGRAMS / 5 && seen.false > 0 && seen.null > 0, JSON.stringify(seen))
})

const NOWHERE = { input: 0, transaction: { inputs: [], outputs: [] }, spent: [], covenants: undefined }

test('programs of any bytes are followed to an end, without a throw', () => {
  const random = seeded(SEED)
  for (let n = 0; n < 400; n++) {
    const bytes = Uint8Array.from({ length: random.below(80) }, () => random.below(0xdc))
    const script = readScript(bytes)
    if (script === undefined) continue
    const given = Array.from({ length: random.below(6) }, () => Uint8Array.of(random.below(4)))
    signaturePath({ script, arguments: given }, NOWHERE)
  }
  const long = readScript(new Uint8Array(250_000).fill(0xac))
  assert.ok(long)
  const path = signaturePath({ script: long, arguments: [] }, NOWHERE)
  assert.equal(path.signed, null)
})
