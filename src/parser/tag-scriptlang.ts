/**
 * `scriptlang`: a program written in SilverScript. Its compiler leaves no mark, but it puts a recognisable frame
 * around a contract with several entry points:
 *
 *   6b <state pushes> 6c   then for each entry n   76 <n> 9c 63 75 <body> 67   and at the end
 *   75 00 69 (or, in a later build, 6a) and one 68 for each entry
 *
 * Instructions are compared, never bytes, because a program that carries such a frame only as data (to check another
 * contract's template) does not have the frame itself.
 */
import { type Confidence, strongest } from './confidence.ts'
import { OP } from './opcodes.ts'
import type { Script } from './read-script.ts'
import type { Reveal } from './reveal.ts'
import { readTokenState } from './token-state.ts'

interface ScriptlangProgram {
  readonly input: number
  readonly language: 'silverscript'
  /**
   * `frame`: start and end of the compiler's frame. `frame_head`: the start alone. `token_state`: no frame, but the
   * state block of a KCC-20 token, whose builds with a single entry have no frame.
   */
  readonly evidence: 'frame' | 'frame_head' | 'token_state'
  /** The entry that was called, if the frame numbers its entries. */
  readonly entry: number | null
  readonly confidence: Confidence
}

export interface ScriptlangDetail {
  readonly confidence: Confidence
  readonly programs: ScriptlangProgram[]
}

export function scriptlangDetail(reveals: readonly Reveal[]): ScriptlangDetail | null {
  const programs = reveals.flatMap((reveal) => scriptlangProgram(reveal) ?? [])
  if (programs.length === 0) return null
  return { confidence: strongest(programs.map((program) => program.confidence)), programs }
}

function scriptlangProgram(reveal: Reveal): ScriptlangProgram | null {
  const common = { input: reveal.input, language: 'silverscript' } as const
  if (hasFrameHead(reveal.script)) {
    const entry = calledEntry(reveal.arguments.at(-1))
    return hasFrameEnd(reveal.script)
      ? { ...common, evidence: 'frame', entry, confidence: 'likely' }
      : { ...common, evidence: 'frame_head', entry, confidence: 'hint' }
  }
  const state = readTokenState(reveal.script)
  if (state === null || state.framed) return null
  return { ...common, evidence: 'token_state', entry: null, confidence: 'hint' }
}

function hasFrameHead(script: Script): boolean {
  if (script.op(0) !== OP.TO_ALT_STACK) return false
  let at = 1
  while (script.isPush(at)) at++
  const dispatch = [OP.FROM_ALT_STACK, OP.DUP, 0, OP.NUM_EQUAL, OP.IF, OP.DROP]
  return dispatch.every((op, i) => script.op(at + i) === op)
}

/** One ENDIF for each IF of the dispatch, preceded by the code that runs if no entry matches. */
function hasFrameEnd(script: Script): boolean {
  let entries = 0
  while (script.op(-1 - entries) === OP.ENDIF) entries++
  if (entries < 2) return false
  const before = (back: number) => script.op(-entries - back)
  if (before(1) === OP.RETURN) return before(2) === OP.ELSE
  return before(1) === OP.VERIFY && before(2) === 0 && before(3) === OP.DROP && before(4) === OP.ELSE
}

/** The last argument is the entry's number, as a script number. */
function calledEntry(argument: Uint8Array | undefined): number | null {
  if (argument === undefined) return null
  if (argument.length === 0) return 0
  const [value] = argument
  return argument.length === 1 && value !== undefined && value < 0x80 ? value : null
}
