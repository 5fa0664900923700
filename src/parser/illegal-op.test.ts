import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytesOfHex } from '../core/chain/hex.ts'
import { NATIVE_SUBNETWORK } from '../core/chain/transaction.ts'
import { hasIllegalOp } from './illegal-op.ts'
import { parseTransaction } from './parse-transaction.ts'
import { readScript } from './read-script.ts'

const hex = (op: number) => op.toString(16).padStart(2, '0')
const [IF, NOT_IF, ELSE, ENDIF] = ['63', '64', '67', '68']
/** A condition that is computed instead of pushed, so it is unknown to the parser. */
const DEPTH = '74'
const REFUSED_WHEN_EXECUTED = [
  0x50,
  0x62,
  0x89,
  0x8a,
  0xca,
  ...Array.from({ length: 37 }, (_, i) => 0xdb + i),
]
const REFUSED_ANYWHERE = [0x65, 0x66, 0x80, 0x81, 0x8d, 0x8e, 0x98, 0x99]

function isIllegal(program: string, top?: string): boolean {
  const script = readScript(bytesOfHex(program))
  assert.ok(script)
  return hasIllegalOp(script, top === undefined ? undefined : bytesOfHex(top))
}

test('an instruction without a meaning is refused where it is executed, and nowhere else', () => {
  for (const op of REFUSED_WHEN_EXECUTED.map(hex)) {
    const refused = [
      op,
      `51${IF}${op}${ENDIF}`,
      `00${IF}51${ELSE}${op}${ENDIF}`,
      `00${NOT_IF}${op}${ENDIF}`,
      `51${IF}51${IF}${op}${ENDIF}${ENDIF}`,
      `00${IF}${op}${ENDIF}${op}`,
      `00${IF}${op}${ELSE}51${ELSE}51${ELSE}${op}${ENDIF}`,
      `0105${IF}${op}${ENDIF}`,
      `${DEPTH}${IF}51${ENDIF}${op}`,
    ]
    for (const program of refused) assert.equal(isIllegal(program), true, program)
    const fine = [
      `00${IF}${op}${ENDIF}51`,
      `51${NOT_IF}${op}${ENDIF}51`,
      `51${IF}51${ELSE}${op}${ENDIF}`,
      `00${IF}51${IF}${op}${ELSE}${op}${ENDIF}${op}${ENDIF}`,
      `0180${IF}${op}${ENDIF}51`,
      `020000${IF}${op}${ENDIF}51`,
      // Whether the instruction runs depends on what the script computes.
      `${DEPTH}${IF}${op}${ELSE}${op}${ENDIF}`,
      `${IF}${op}${ENDIF}51`,
      // Inside pushed data it is not an instruction.
      `01${op}51`,
    ]
    for (const program of fine) assert.equal(isIllegal(program), false, program)
  }
})

test('the condition may already be on the stack when the script starts', () => {
  assert.equal(isIllegal(`${IF}ca${ELSE}51${ENDIF}`, '01'), true)
  assert.equal(isIllegal(`${IF}ca${ELSE}51${ENDIF}`, ''), false)
  assert.equal(isIllegal(`${IF}51${ELSE}ca${ENDIF}`, ''), true)
})

test('what is disabled is refused in every branch', () => {
  for (const op of REFUSED_ANYWHERE.map(hex)) {
    assert.equal(isIllegal(op), true)
    assert.equal(isIllegal(`00${IF}${op}${ENDIF}51`), true)
  }
  for (const op of ['7e', '7f', '95', '96', 'a6', 'd7', 'da', 'b2']) assert.equal(isIllegal(op), false, op)
})

test('a program with an unknown instruction in a skipped branch is read like any other', () => {
  const key = '72ce1e7c14c31565c9994d3fc092ca41513fff535dc079b54d8b7b8f40c1ed1d'
  const json = Buffer.from('{"p":"krc-20","op":"mint","tick":"cypu"}').toString('hex')
  const transaction = (rest: string) => {
    const program = `20${key}ac006307${Buffer.from('kasplex').toString('hex')}0028${json}68${rest}`
    const signature = `41${'00'.repeat(64)}01`
    return {
      version: 0,
      inputs: [
        {
          previousOutpoint: { transactionId: 'a6'.repeat(32), index: 0 },
          signatureScript: `${signature}4c${hex(program.length / 2)}${program}`,
          sequence: 0n,
          sigOpCount: 1,
          computeBudget: 0,
        },
      ],
      outputs: [],
      lockTime: 0n,
      subnetworkId: NATIVE_SUBNETWORK,
      gas: 0n,
      payload: '',
      storageMass: 0n,
    }
  }
  const tagsOf = (rest: string) => parseTransaction(transaction(rest), { network: 'mainnet' }).tags
  assert.deepEqual(tagsOf(''), ['krc20'])
  for (const op of ['ca', 'db', 'fe', 'ff']) {
    assert.deepEqual(tagsOf(`00${IF}${op}${ENDIF}`), ['krc20'], op)
    assert.deepEqual(tagsOf(op), [], op)
  }
})
