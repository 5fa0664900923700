/** `krc20`: an operation of the KRC-20 token protocol, revealed by an input or written into the payload. */
import { encodeAddress } from '../core/chain/address.ts'
import { bytesOfHex } from '../core/chain/hex.ts'
import { type Network, networkInfo } from '../core/chain/network.ts'
import { isCoinbase, type SpentOutput, type Transaction } from '../core/chain/transaction.ts'
import { type Confidence, strongest } from './confidence.ts'
import { isFoundByIndexer, keyCheckOf, readKrc20Envelope } from './krc20-envelope.ts'
import { type Krc20Operation, MAX_JSON_BYTES, readKrc20Operation } from './krc20-operation.ts'
import type { Reveal } from './reveal.ts'
import { addressOfRedeemScript, addressOfScript } from './script-address.ts'
import { classifyScript } from './script-class.ts'

interface Krc20Found {
  readonly form: 'envelope' | 'payload'
  /** The input that reveals it; 0 for the payload form, whose sender is the owner of the first input. */
  readonly input: number
  readonly operation: Krc20Operation
  /**
   * For several keys, the address of the script that checks them. Null for a payload whose first input is unknown or
   * has no address.
   */
  readonly sender: string | null
  /** The script that checks the sender's keys, in hex; empty if the reference indexer finds none, null if unknown. */
  readonly key_check: string | null
  /** The address that the commit transaction paid to; null for the payload form. */
  readonly commit_address: string | null
  readonly confidence: Confidence
}

export interface Krc20Detail {
  readonly confidence: Confidence
  readonly operations: Krc20Found[]
}

/** `{` */
const OPENING_BRACE = '7b'
/** JSON white space, in hex. */
const SPACES: ReadonlySet<string> = new Set(['20', '09', '0a', '0d'])

export function krc20Detail(
  transaction: Transaction,
  spent: readonly (SpentOutput | null)[],
  reveals: readonly Reveal[],
  network: Network,
): Krc20Detail | null {
  const operations = reveals
    .filter(({ input }) => isFoundByIndexer(bytesOfHex(transaction.inputs[input]?.signatureScript ?? '')))
    .flatMap((reveal) => envelopeOperation(reveal, network) ?? [])
  const written = payloadOperation(transaction, spent, network)
  if (written !== null) operations.push(written)
  if (operations.length === 0) return null
  return { confidence: strongest(operations.map((found) => found.confidence)), operations }
}

function envelopeOperation(reveal: Reveal, network: Network): Krc20Found | null {
  const envelope = readKrc20Envelope(reveal.script)
  const operation = envelope && readKrc20Operation(envelope.json, network)
  if (!envelope || !operation) return null
  const prefix = networkInfo(network).addressPrefix
  return {
    form: 'envelope',
    input: reveal.input,
    operation,
    sender: encodeAddress({ prefix, ...envelope.signer }),
    key_check: envelope.keyCheck,
    commit_address: addressOfRedeemScript(reveal.program, network),
    confidence: reveal.proof === 'verified' ? 'certain' : 'likely',
  }
}

function payloadOperation(
  transaction: Transaction,
  spent: readonly (SpentOutput | null)[],
  network: Network,
): Krc20Found | null {
  if (!beginsWithBrace(transaction.payload) || isCoinbase(transaction)) return null
  const operation = readKrc20Operation(bytesOfHex(transaction.payload), network, 'payload')
  if (operation === null) return null
  const owner = spent[0]?.scriptPublicKey ?? null
  return {
    form: 'payload',
    input: 0,
    operation,
    sender: owner && addressOfScript(owner, network),
    key_check: owner && keyCheckOfOwner(owner, transaction),
    commit_address: null,
    confidence: 'likely',
  }
}

/** Avoids decoding most payloads, because few begin with a brace. */
function beginsWithBrace(payload: string): boolean {
  let at = 0
  while (at < 2 * MAX_JSON_BYTES && SPACES.has(payload.slice(at, at + 2))) at += 2
  return payload.startsWith(OPENING_BRACE, at)
}

/** A script hash hides the check, so the check is the start of the revealed program. */
function keyCheckOfOwner(owner: string, { inputs }: Transaction): string {
  if (classifyScript(owner) !== 'scripthash') return owner.slice(4)
  return keyCheckOf(bytesOfHex(inputs[0]?.signatureScript ?? ''))
}
