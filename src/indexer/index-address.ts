/**
 * What a transaction means for each of its addresses: direction, amount, counterparty, and the outputs that it moved.
 */
import type { ParsedInput, ParsedOutput, ParsedTransaction } from '../parser/parse-transaction.ts'
import type { AddressEffect } from '../store/chain.ts'

export interface Movement {
  readonly effect: Omit<AddressEffect, 'event'>
  readonly outputs: readonly ParsedOutput[]
  readonly inputs: readonly ParsedInput[]
}

interface Own {
  outputs: ParsedOutput[]
  inputs: ParsedInput[]
}

/** One movement per known address in the transaction. */
export function movementsOf(parsed: ParsedTransaction): Movement[] {
  const owners = new Map<string, Own>()
  const own = (address: string): Own => {
    let found = owners.get(address)
    if (found === undefined) {
      found = { outputs: [], inputs: [] }
      owners.set(address, found)
    }
    return found
  }
  for (const input of parsed.inputs) if (input.address !== null) own(input.address).inputs.push(input)
  for (const output of parsed.outputs) if (output.address !== null) own(output.address).outputs.push(output)
  return [...owners].map(([address, { outputs, inputs }]) => ({
    effect: effectOf(parsed, address, outputs, inputs),
    outputs,
    inputs,
  }))
}

export function transactionAddresses(parsed: ParsedTransaction): string[] {
  const addresses = new Set<string>()
  for (const { address } of parsed.inputs) if (address !== null) addresses.add(address)
  for (const { address } of parsed.outputs) if (address !== null) addresses.add(address)
  return [...addresses]
}

/** Inputs minus outputs; null if an input is unknown or there are none, as in a coinbase. */
export function feeOf(parsed: ParsedTransaction): bigint | null {
  if (parsed.inputs.length === 0) return null
  let fee = 0n
  for (const { amount_sompi } of parsed.inputs) {
    if (amount_sompi === null) return null
    fee += amount_sompi
  }
  for (const { amount_sompi } of parsed.outputs) fee -= amount_sompi
  return fee
}

function effectOf(
  parsed: ParsedTransaction,
  address: string,
  outputs: readonly ParsedOutput[],
  inputs: readonly ParsedInput[],
): Omit<AddressEffect, 'event'> {
  const received = outputs.reduce((sum, output) => sum + output.amount_sompi, 0n)
  const sent = inputs.reduce((sum, input) => sum + (input.amount_sompi ?? 0n), 0n)
  const alone = inputs.length === parsed.inputs.length && outputs.length === parsed.outputs.length
  const net = received - sent
  const common = { address, received, sent }
  if ((alone && inputs.length > 0) || net === 0n) {
    return { ...common, direction: 'self', amount: net < 0n ? -net : net, counterparty: null }
  }
  if (net > 0n) {
    return {
      ...common,
      direction: 'receive',
      amount: net,
      counterparty: largestForeign(parsed.inputs, address),
    }
  }
  return { ...common, direction: 'send', amount: -net, counterparty: largestForeign(parsed.outputs, address) }
}

function largestForeign(
  cells: readonly { readonly address: string | null; readonly amount_sompi: bigint | null }[],
  own: string,
): string | null {
  let largest: { address: string; amount: bigint } | undefined
  for (const { address, amount_sompi } of cells) {
    if (address === null || address === own) continue
    const amount = amount_sompi ?? 0n
    if (largest === undefined || amount > largest.amount) largest = { address, amount }
  }
  return largest?.address ?? null
}
