/** Keys of the simulated users, and how a transaction is assembled, paid for and signed. */
import { sha256 } from '@noble/hashes/sha2.js'
import { payToPublicKey } from '../consensus/address.ts'
import { toHex } from '../consensus/bytes.ts'
import { computeMass, storageMass, transientMass } from '../consensus/mass.ts'
import {
  NATIVE_SUBNETWORK,
  parseOutpointKey,
  type Tx,
  type TxBody,
  type TxInput,
  type TxOutput,
  type UtxoEntry,
} from '../consensus/model.ts'
import { sealTransaction } from '../consensus/validate.ts'
import { pushData } from '../script/push.ts'
import { SIGHASH_ALL, SigHasher } from '../script/sighash.ts'
import { type SigningKey, signAll, signingKey } from '../script/sign.ts'
import { enterContract } from './programs.ts'

export interface Wallet {
  name: string
  secret: string
  key: SigningKey
  script: string
}

export function createWallet(seed: number, name: string): Wallet {
  const secret = toHex(sha256(Buffer.from(`sandbox wallet ${seed} ${name}`)))
  const key = signingKey(secret)
  return { name, secret, key, script: payToPublicKey(key.publicKey) }
}

/** An output to spend: by key alone, by revealing a script, or through an entry of a framed contract. */
export interface Coin {
  key: string
  entry: UtxoEntry
  owner: Wallet
  /** `keys` is the number of keys against which the program checks one signature; default 1. */
  reveal?: { program: string; entry?: 0 | 1; keys?: number }
}

const SIGNATURE_PLACEHOLDER = `41${'00'.repeat(65)}`
/** One signature costs ten units of compute budget in version 1. */
const BUDGET_PER_SIGNATURE = 10

function unlock(coin: Coin, signature: string): string {
  if (coin.reveal === undefined) return signature
  const { program, entry } = coin.reveal
  return entry === undefined ? signature + pushData(program) : enterContract(signature, entry, program)
}

interface Draft {
  version: 0 | 1
  coins: readonly Coin[]
  outputs: readonly TxOutput[]
  /** Receives everything that is left after the outputs and the wanted fee. */
  change: string
  feerate: number
  payload?: string
  subnetworkId?: string
}

/** Undefined if the coins do not cover it. */
export function pay(draft: Draft): Tx | undefined {
  const { version, coins } = draft
  const total = coins.reduce((sum, coin) => sum + coin.entry.amount, 0n)
  const spent = draft.outputs.reduce((sum, output) => sum + output.value, 0n)
  const body: TxBody = {
    version,
    inputs: coins.map((coin) => ({
      previousOutpoint: parseOutpointKey(coin.key),
      signatureScript: unlock(coin, SIGNATURE_PLACEHOLDER),
      sequence: 0n,
      sigOpCount: version === 0 ? (coin.reveal?.keys ?? 1) : 0,
      computeBudget: version === 0 ? 0 : BUDGET_PER_SIGNATURE,
    })),
    outputs: [...draft.outputs, { value: total, scriptPublicKey: draft.change, covenant: null }],
    lockTime: 0n,
    subnetworkId: draft.subnetworkId ?? NATIVE_SUBNETWORK,
    gas: 0n,
    payload: draft.payload ?? '',
    storageMass: 0n,
  }
  const mass = Math.max(computeMass(body), transientMass(body) / 2)
  const change = total - spent - BigInt(Math.ceil(mass * draft.feerate))
  if (change < 100_000_000n) return undefined
  body.outputs[body.outputs.length - 1] = { value: change, scriptPublicKey: draft.change, covenant: null }
  return sign(body, coins)
}

export function sign(body: TxBody, coins: readonly Coin[]): Tx {
  const hasher = new SigHasher(body)
  if (coins.length !== body.inputs.length) throw new RangeError('every input needs its coin')
  const signatures = signAll(
    coins.map(({ owner, entry }, i) => ({ key: owner.key, message: hasher.schnorr(i, entry, SIGHASH_ALL) })),
  )
  for (const [i, coin] of coins.entries()) {
    const input = body.inputs[i] as TxInput
    input.signatureScript = unlock(coin, `41${toHex(signatures[i] as Uint8Array)}01`)
  }
  body.storageMass =
    storageMass(
      body,
      coins.map((coin) => coin.entry),
    ) ?? 0n
  return sealTransaction(body)
}
