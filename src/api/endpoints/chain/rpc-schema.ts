/** The schema of JSON-RPC bodies, derived from the table of methods. */
import { type TSchema, Type } from 'typebox'
import { textField } from '../../../core/rows/fields.ts'
import { RPC_METHODS, type RpcMethod } from '../../../upstreams/methods.ts'
import { MAX_BATCH, RPC_ERRORS } from './rpc-codes.ts'

const id = Type.Union([Type.String({ maxLength: 256 }), Type.Number(), Type.Null()], {
  description: 'Chosen by the caller, copied into the answer.',
})
const jsonrpc = Type.Literal('2.0', { description: 'Version of the protocol.' })

function callOf(method: RpcMethod): TSchema {
  const params = method.params as TSchema & { required?: readonly string[] }
  const needed = (params.required?.length ?? 0) > 0
  return Type.Object(
    {
      jsonrpc,
      id,
      method: Type.Literal(method.name, { description: 'Name of the method.' }),
      params: needed ? params : Type.Optional(params),
    },
    { title: method.name, description: describe(method), 'x-credits': method.price },
  )
}

function describe(method: RpcMethod): string {
  const kept = method.cacheMs === 0 ? '' : ` Answers are shared for up to ${method.cacheMs} ms.`
  return `${method.weight === 'light' ? 'Light' : 'Heavy'} method: ${method.price} credit${method.price === 1 ? '' : 's'}.${kept}`
}

const Call = Type.Union([...RPC_METHODS.values()].map(callOf))

export const RpcRequest = Type.Union([Call, Type.Array(Call, { minItems: 1, maxItems: MAX_BATCH })], {
  description: `A call, or a batch of up to ${MAX_BATCH} (and up to the requests per second of the plan).`,
})

const Success = Type.Object({
  jsonrpc,
  id,
  result: Type.Unknown({ description: 'What the node answered, byte for byte.' }),
})
const Failure = Type.Object({
  jsonrpc,
  id,
  error: Type.Object({
    code: Type.Integer({ enum: Object.values(RPC_ERRORS).map(({ code }) => code), description: 'Its kind.' }),
    message: textField('A sentence, or the text of the node.'),
    data: Type.Optional(Type.Unknown({ description: 'What is known in fields.' })),
  }),
})
const Answer = Type.Union([Success, Failure])

export const RpcResponse = Type.Union([Answer, Type.Array(Answer)], {
  description: 'An answer, or for a batch a list of answers in the order of the calls.',
})

/** Tables in the description. */
export function rpcGuide(): string {
  const codes = Object.values(RPC_ERRORS).map(({ code, means }) => `| ${code} | ${means} |`)
  const methods = [...RPC_METHODS.values()].map(
    (method) => `| \`${method.name}\` | ${paramsText(method)} | ${method.price} |`,
  )
  return [
    'JSON-RPC 2.0 in front of the node, `params` as an object. Everything is checked before it is forwarded, and integers of 64 bits survive unchanged in both directions; they may also be sent as decimal text.',
    `A batch may have up to ${MAX_BATCH} calls and counts as that many requests; its answers keep the order of the calls. A balance or a rate that cannot take the whole batch refuses it whole with 402 or 429. Calls answered with \`error\` cost nothing, nor do those of a caller who disconnected before their answer.`,
    ['| code | meaning |', '|---|---|', ...codes].join('\n'),
    ['| method | params | credits |', '|---|---|---|', ...methods].join('\n'),
    'Not served: addPeer, ban, unban, shutdown, resolveFinalityConflict, subscribe, unsubscribe and every method that begins with notify.',
  ].join('\n\n')
}

function paramsText(method: RpcMethod): string {
  const { properties = {}, required = [] } = method.params as {
    properties?: Record<string, { default?: unknown }>
    required?: readonly string[]
  }
  const names = Object.entries(properties).map(([name, { default: fallback }]) => {
    if (required.includes(name) && fallback === undefined) return `\`${name}\``
    return fallback === undefined ? `\`${name}\`?` : `\`${name}\` = ${JSON.stringify(fallback)}`
  })
  return names.length === 0 ? '–' : names.join(', ')
}
