/**
 * Whether a script can run at all, as the node's engine decides it: some instructions are illegal anywhere, others only
 * when they are executed. A branch whose condition is not pushed directly before it may be skipped.
 */
import { OP } from './opcodes.ts'
import type { Script } from './read-script.ts'

/** Illegal even in a skipped branch: VerIf, VerNotIf and disabled instructions. */
const ALWAYS_ILLEGAL = new Set([0x65, 0x66, 0x80, 0x81, 0x8d, 0x8e, 0x98, 0x99])
/** Illegal when executed: reserved instructions and those without a meaning yet. */
const RESERVED = new Set([0x50, 0x62, 0x89, 0x8a, 0xca])
const FIRST_UNKNOWN = 0xdb

/** What is known of a branch. A `dead` branch lies inside a skipped one, so its else branch is skipped too. */
type Branch = 'executed' | 'skipped' | 'open' | 'dead'
const OTHERWISE: Record<Branch, Branch> = {
  executed: 'skipped',
  skipped: 'executed',
  open: 'open',
  dead: 'dead',
}

/** `top` is the top of the stack when the script begins, if known. */
export function hasIllegalOp(script: Script, top?: Uint8Array): boolean {
  const branches: Branch[] = []
  for (let at = 0; at < script.length; at++) {
    const op = script.ops[at] ?? 0
    const now = branches.at(-1) ?? 'executed'
    if (ALWAYS_ILLEGAL.has(op)) return true
    if (now === 'executed' && (op >= FIRST_UNKNOWN || RESERVED.has(op))) return true
    if (op === OP.IF || op === OP.NOT_IF) branches.push(entered(script, at, now, top))
    else if (op === OP.ELSE && branches.length > 0) branches[branches.length - 1] = OTHERWISE[now]
    else if (op === OP.ENDIF) branches.pop()
  }
  return false
}

function entered(script: Script, at: number, outer: Branch, top: Uint8Array | undefined): Branch {
  if (outer === 'open') return 'open'
  if (outer !== 'executed') return 'dead'
  const condition = at === 0 ? top : script.pushed(at - 1)
  if (condition === undefined) return 'open'
  return isTrue(condition) === (script.op(at) === OP.IF) ? 'executed' : 'skipped'
}

/** Every value except zero, in any length and with either sign. */
function isTrue(value: Uint8Array): boolean {
  return value.some((byte, index) => byte !== 0 && !(byte === 0x80 && index === value.length - 1))
}
