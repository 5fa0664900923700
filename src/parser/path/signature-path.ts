/**
 * Which keys an input shows to have signed. The program is followed branch by branch, with the arguments that the spend
 * supplies. Signature checks are not computed: a transaction is valid only if its scripts end with true, so a check
 * must have succeeded if the path requires it (through VERIFY, or as the value that remains at the end).
 *
 * The path ends at a branch whose condition is unknown here, such as much of what a script reads of its transaction.
 * Signatures required up to that point are shown, later ones are not. Nothing is guessed.
 */
import { hexOfBytes } from '../../core/chain/hex.ts'
import { OP } from '../opcodes.ts'
import type { Reveal } from '../reveal.ts'
import { runOperation } from './operations.ts'
import { moveValues } from './stack-moves.ts'
import { type PathPlace, readTransactionPart } from './transaction-reads.ts'
import { numberOf, type SignatureCheck, truthOf, truthValue, UNKNOWN, type Value } from './values.ts'

export interface SignaturePath {
  /** True: a key to which the program commits has signed. False: the path requires no signature. Null: not shown. */
  readonly signed: boolean | null
  /** All keys that certainly have signed, in hex, including keys that were passed to the program or read by it. */
  readonly keys: ReadonlySet<string>
}

/** Executed instructions, for all inputs of a transaction together. */
const MAX_INSTRUCTIONS = 20_000
const MAX_STACK = 244
const CHECKS: ReadonlySet<number> = new Set([
  OP.CHECK_SIG,
  OP.CHECK_SIG_ECDSA,
  OP.CHECK_SIG_VERIFY,
  OP.CHECK_MULTISIG,
  OP.CHECK_MULTISIG_ECDSA,
  OP.CHECK_MULTISIG_VERIFY,
])
const MAX_KEYS = 20
/** Longer values are no keys. Their hex form could be long, and copies of them are cheap to write. */
const MAX_KEY_BYTES = 33

export interface InstructionBudget {
  left: number
}

export function instructionBudget(): InstructionBudget {
  return { left: MAX_INSTRUCTIONS }
}

export function signaturePath(
  { script, arguments: given }: Pick<Reveal, 'script' | 'arguments'>,
  place: PathPlace,
  budget = instructionBudget(),
): SignaturePath {
  if (!script.ops.some((op) => CHECKS.has(op))) return { signed: false, keys: new Set() }
  const path = new Path(given, place, budget)
  let isKnown = true
  for (let at = 0; isKnown && at < script.length; at++)
    isKnown = path.step(script.ops[at] ?? 0, script.pushed(at))
  return path.result(isKnown)
}

class Path {
  readonly #stack: Value[]
  readonly #alternative: Value[] = []
  /** Whether each open branch is executed; null for a branch inside one that is not executed. */
  readonly #branches: (boolean | null)[] = []
  readonly #place: PathPlace
  readonly #budget: InstructionBudget
  readonly #demanded = new Set<SignatureCheck>()
  #hasChecks = false

  constructor(given: readonly Uint8Array[], place: PathPlace, budget: InstructionBudget) {
    this.#stack = given.map((bytes) => ({ bytes }))
    this.#place = place
    this.#budget = budget
  }

  /** Returns false if the path is unknown from here on. */
  step(op: number, pushed: Uint8Array | undefined): boolean {
    if (op === OP.ELSE || op === OP.ENDIF) return this.#leave(op)
    const branch = this.#branches.at(-1)
    const isExecuted = branch === undefined || branch === true
    if (op === OP.IF || op === OP.NOT_IF) return this.#enter(op, isExecuted)
    if (!isExecuted) return true
    if (this.#budget.left === 0) return false
    this.#budget.left--
    if (pushed !== undefined) this.#stack.push({ bytes: pushed, isFixed: true })
    else if (!this.#run(op)) return false
    return this.#stack.length + this.#alternative.length <= MAX_STACK
  }

  result(isKnown: boolean): SignaturePath {
    const [last] = this.#stack
    if (isKnown && this.#stack.length === 1 && last !== undefined) this.#demand(last)
    const demanded = [...this.#demanded]
    const keys = new Set(demanded.flatMap((check) => check.keys))
    if (demanded.some(({ isOwn }) => isOwn)) return { signed: true, keys }
    return { signed: isKnown && !this.#hasChecks ? false : null, keys }
  }

  #enter(op: number, isExecuted: boolean): boolean {
    if (!isExecuted) {
      this.#branches.push(null)
      return true
    }
    // A check that decides a branch has no known value, because it is not computed.
    const truth = truthOf(this.#stack.pop() ?? UNKNOWN)
    if (truth === undefined) return false
    this.#branches.push(truth === (op === OP.IF))
    return true
  }

  #leave(op: number): boolean {
    if (op === OP.ENDIF) return this.#branches.pop() !== undefined
    const now = this.#branches.at(-1)
    if (now === undefined) return false
    if (now !== null) this.#branches[this.#branches.length - 1] = !now
    return true
  }

  #run(op: number): boolean {
    switch (op) {
      case OP.VERIFY:
        return this.#verify()
      case OP.CHECK_SIG:
      case OP.CHECK_SIG_ECDSA:
        return this.#checkSignature()
      case OP.CHECK_SIG_VERIFY:
        return this.#checkSignature() && this.#verify()
      case OP.CHECK_MULTISIG:
      case OP.CHECK_MULTISIG_ECDSA:
        return this.#checkSignatures()
      case OP.CHECK_MULTISIG_VERIFY:
        return this.#checkSignatures() && this.#verify()
      default:
        return (
          moveValues(op, this.#stack, this.#alternative) ??
          readTransactionPart(op, this.#stack, this.#place) ??
          runOperation(op, this.#stack)
        )
    }
  }

  #verify(): boolean {
    const value = this.#stack.pop()
    if (value !== undefined) this.#demand(value)
    return value !== undefined
  }

  #demand({ checks = [] }: Value): void {
    for (const check of checks) this.#demanded.add(check)
  }

  #checkSignature(): boolean {
    const key = this.#stack.pop()
    const signature = this.#stack.pop()
    if (key === undefined || signature === undefined) return false
    this.#stack.push(this.#checked([key], [signature]))
    return true
  }

  /** The stack holds signatures, their number, keys, and their number. */
  #checkSignatures(): boolean {
    const keys = this.#takeGroup()
    const signatures = keys === undefined ? undefined : this.#takeGroup()
    if (keys === undefined || signatures === undefined || signatures.length > keys.length) return false
    this.#stack.push(this.#checked(keys, signatures))
    return true
  }

  #takeGroup(): Value[] | undefined {
    const count = numberOf(this.#stack.pop() ?? UNKNOWN)
    if (count === undefined || count < 0n || count > MAX_KEYS || count > this.#stack.length) return undefined
    return this.#stack.splice(this.#stack.length - Number(count))
  }

  #checked(keys: readonly Value[], signatures: readonly Value[]): Value {
    if (signatures.length === 0) return truthValue(true)
    if (signatures.some(({ bytes }) => bytes?.length === 0)) return truthValue(false)
    this.#hasChecks = true
    const known = keys.flatMap(({ bytes }) => (bytes && bytes.length <= MAX_KEY_BYTES ? bytes : []))
    const own = keys.filter(({ bytes, isFixed }) => bytes !== undefined && isFixed === true)
    return {
      checks: [
        {
          keys: signatures.length === keys.length ? known.map(hexOfBytes) : [],
          // Keys supplied by the spender can be anybody's. If they suffice, none of the program's keys need have
          // signed.
          isOwn: keys.length - own.length < signatures.length,
        },
      ],
    }
  }
}
