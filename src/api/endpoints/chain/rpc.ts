import { base } from '../../../contract/costs.ts'
import { object, type TextAnswer } from '../../../contract/endpoint.ts'
import { CONTENT_TYPES } from '../../../contract/envelopes.ts'
import { endpoint } from '../services.ts'
import { maxRpcBytes, type RpcBody, readRpcBody, rpcDemand } from './rpc-read.ts'
import { type RpcAnswer, runRpc } from './rpc-run.ts'
import { RpcRequest, RpcResponse, rpcGuide } from './rpc-schema.ts'

const MAX_TEXT = 4_096
const LARGEST_JOINED = 65_536
const RETRY = [['Retry-After', '1']] as const

export const rpcEndpoint = endpoint({
  path: 'POST /rpc',
  doc: {
    tag: 'node',
    summary: 'JSON-RPC to the node',
    description: rpcGuide(),
  },
  access: { scope: 'node' },
  body: {
    name: 'RpcRequest',
    schema: RpcRequest,
    example: { jsonrpc: '2.0', id: 1, method: 'getSinkBlueScore', params: {} },
    maxBytes: maxRpcBytes,
    read: (bytes, services) => readRpcBody(bytes, services.chain.upstreams.prepare),
  },
  demand: rpcDemand,
  cost: base(0).per('light call', 1).per('heavy call', 5),
  returns: object('RpcResponse', RpcResponse, 200, {
    503: 'No node could answer any of the calls; each answer has the code -32020.',
  }),
  run: ({ body, services, heavySlots, isGone }) => {
    const { isBatch, items } = body as RpcBody
    const answers = runRpc(items, services.chain, { heavySlots, isAbandoned: isGone })
    return answers instanceof Promise ? answers.then((all) => bodyOf(all, isBatch)) : bodyOf(answers, isBatch)
  },
})

function bodyOf(answers: readonly RpcAnswer[], isBatch: boolean): TextAnswer {
  const units = { 'light call': 0, 'heavy call': 0 }
  let down = true
  for (const { unit, unavailable } of answers) {
    if (unit !== undefined) units[unit]++
    down &&= unavailable
  }
  const text = writeAnswers(answers, isBatch)
  const contentType = CONTENT_TYPES.json
  if (down) return { kind: 'text', text, contentType, units, status: 503, headers: RETRY }
  return { kind: 'text', text, contentType, units }
}

/** Joins answers into one body. Results are not parsed, and large ones are not copied. */
function writeAnswers(answers: readonly RpcAnswer[], isBatch: boolean): string | Buffer | Buffer[] {
  const [only] = answers
  if (!isBatch && only !== undefined && (only.result?.length ?? 0) <= MAX_TEXT) return textOf(only)
  const pieces: (string | Buffer)[] = isBatch ? ['['] : []
  for (const [index, answer] of answers.entries()) {
    if (index > 0) pieces.push(',')
    if (answer.result === undefined) pieces.push(answer.text ?? 'null')
    else pieces.push(`{"jsonrpc":"2.0","id":${answer.idText},"result":`, answer.result, '}')
  }
  if (isBatch) pieces.push(']')
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  if (length <= MAX_TEXT) return pieces.map((piece) => piece.toString()).join('')
  const parts = pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece))
  return length <= LARGEST_JOINED ? Buffer.concat(parts) : parts
}

function textOf({ text, result, idText }: RpcAnswer): string {
  if (result === undefined) return text ?? 'null'
  return `{"jsonrpc":"2.0","id":${idText},"result":${result.toString('utf8')}}`
}
