/**
 * `covenant` and `covenant_execution`. A covenant id moves from the spent output to the new one. Consensus allows two
 * cases for an output with a covenant id: its authorising input spends an output of the same id (continuation), or the
 * id is the hash of the founding outpoint and outputs (genesis). One hash therefore distinguishes the two even if the
 * spent outputs are unknown. A burn leaves no trace in the outputs, so detecting it needs the spent outputs.
 */
import type { SpentOutput, Transaction, TransactionOutput } from '../core/chain/transaction.ts'
import { type Confidence, strongest } from './confidence.ts'
import { genesisCovenantId } from './covenant-id.ts'
import { type IntrospectionFamily, introspectionFamily, OP } from './opcodes.ts'
import type { Reveal } from './reveal.ts'

export interface CovenantDetail {
  readonly confidence: Confidence
  /** Every covenant id on an output or on a known spent output. */
  readonly covenant_ids: string[]
}

interface CovenantAction {
  readonly kind: 'genesis' | 'continuation' | 'burn'
  readonly covenant_id: string
  /** The authorising input; for a burn, every input that spent the covenant. */
  readonly inputs: number[]
  readonly outputs: number[]
  readonly confidence: Confidence
}

/** An input that ran a program which inspects its transaction. */
interface CovenantProgram {
  readonly input: number
  readonly families: IntrospectionFamily[]
  /** Whether it also checks a zero-knowledge proof. */
  readonly zero_knowledge: boolean
  readonly confidence: Confidence
}

export interface CovenantExecutionDetail {
  readonly confidence: Confidence
  readonly actions: CovenantAction[]
  readonly programs: CovenantProgram[]
}

type Spent = readonly (SpentOutput | null)[]

export function covenantDetail(transaction: Transaction, spent: Spent): CovenantDetail | null {
  const ids = new Set<string>()
  for (const output of transaction.outputs) if (output.covenant !== null) ids.add(output.covenant.covenantId)
  for (const output of spent) if (output?.covenantId) ids.add(output.covenantId)
  return ids.size === 0 ? null : { confidence: 'certain', covenant_ids: [...ids] }
}

export function covenantExecutionDetail(
  transaction: Transaction,
  spent: Spent,
  reveals: readonly Reveal[],
): CovenantExecutionDetail | null {
  const actions = [...boundActions(transaction, spent), ...burns(transaction, spent)]
  const programs = reveals.flatMap((reveal) => covenantProgram(reveal) ?? [])
  if (actions.length === 0 && programs.length === 0) return null
  const confidence = strongest([...actions, ...programs].map((part) => part.confidence))
  return { confidence, actions, programs }
}

/** One action per authorising input and covenant id among the outputs. */
function boundActions(transaction: Transaction, spent: Spent): CovenantAction[] {
  const groups = new Map<string, { index: number; output: TransactionOutput }[]>()
  for (const [index, output] of transaction.outputs.entries()) {
    if (output.covenant === null) continue
    const key = `${output.covenant.authorizingInput} ${output.covenant.covenantId}`
    const group = groups.get(key)
    if (group) group.push({ index, output })
    else groups.set(key, [{ index, output }])
  }
  const actions: CovenantAction[] = []
  for (const group of groups.values()) {
    const binding = group[0]?.output.covenant
    const input = binding && transaction.inputs[binding.authorizingInput]
    // The authorising input does not exist. No node accepts that, so nothing was executed.
    if (!binding || !input) continue
    const spentId = spent[binding.authorizingInput]?.covenantId ?? null
    const continues = spentId === binding.covenantId
    const founds = !continues && genesisCovenantId(input.previousOutpoint, group) === binding.covenantId
    // It spends another covenant and founds none, which is invalid as well.
    if (spentId !== null && !continues && !founds) continue
    actions.push({
      kind: founds ? 'genesis' : 'continuation',
      covenant_id: binding.covenantId,
      inputs: [binding.authorizingInput],
      outputs: group.map(({ index }) => index),
      confidence: founds || continues ? 'certain' : 'likely',
    })
  }
  return actions
}

function burns(transaction: Transaction, spent: Spent): CovenantAction[] {
  const kept = new Set(transaction.outputs.map((output) => output.covenant?.covenantId))
  const burnt = new Map<string, number[]>()
  for (const [index, output] of spent.entries()) {
    const id = output?.covenantId
    if (!id || kept.has(id)) continue
    const inputs = burnt.get(id)
    if (inputs === undefined) burnt.set(id, [index])
    else inputs.push(index)
  }
  return [...burnt].map(([covenant_id, inputs]) => ({
    kind: 'burn',
    covenant_id,
    inputs,
    outputs: [],
    confidence: 'certain',
  }))
}

function covenantProgram(reveal: Reveal): CovenantProgram | null {
  const families = new Set<IntrospectionFamily>()
  let zeroKnowledge = false
  for (const op of reveal.script.ops) {
    const family = introspectionFamily(op)
    if (family !== undefined) families.add(family)
    else if (op === OP.ZK_PRECOMPILE) zeroKnowledge = true
  }
  if (families.size === 0) return null
  return {
    input: reveal.input,
    families: [...families].sort(),
    zero_knowledge: zeroKnowledge,
    confidence: reveal.proof === 'verified' ? 'certain' : 'likely',
  }
}
