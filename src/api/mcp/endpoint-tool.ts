import {
  argumentsOf,
  DEFAULT_MAX_CREDITS,
  DEFAULT_ROWS,
  DRY_RUN_SCHEMA,
  MAX_CREDITS_SCHEMA,
  MAX_MAX_CREDITS,
  MAX_ROWS,
  requiredOf,
} from './argument-schemas.ts'
import type { ToolEndpoint } from './endpoint-call.ts'
import { type EndpointPage, isDryRun, type JsonObject, readEndpoint } from './read-endpoint.ts'
import { shapeObject, shapePage } from './shape-answer.ts'
import { Spending } from './spending.ts'
import { type McpTool, ownChoice, ownWhole, type ToolArguments } from './tool.ts'

interface EndpointToolForm extends Pick<McpTool, 'name' | 'title' | 'description'> {
  /** The endpoints that the tool chooses from; a single one needs no choice. */
  readonly members: ReadonlyMap<string, ToolEndpoint>
  /** The argument that selects an endpoint; the default is the first one. */
  readonly choice: string
}

export const FIELDS_SCHEMA = { type: 'string', description: 'Comma-separated fields to show; else all.' }

/** A tool over declared endpoints, from which its arguments, prices and answers are derived. */
export function endpointTool(form: EndpointToolForm): McpTool | undefined {
  const { members, choice, ...words } = form
  const [firstName] = members.keys()
  if (firstName === undefined) return undefined
  const hasRows = [...members.values()].some(({ returns }) => returns.kind === 'list')
  return {
    ...words,
    inputSchema: {
      type: 'object',
      properties: {
        ...(members.size === 1
          ? {}
          : { [choice]: { type: 'string', enum: [...members.keys()], default: firstName } }),
        ...argumentsOf(members),
        ...(hasRows ? { fields: FIELDS_SCHEMA } : {}),
        max_credits: MAX_CREDITS_SCHEMA,
        dry_run: DRY_RUN_SCHEMA,
      },
      required: requiredOf(members),
      additionalProperties: false,
    },
    async run(args, context) {
      const { [choice]: chosen, fields, max_credits, ...asked } = args
      const member = ownChoice(args, choice, [...members.keys()]) ?? firstName
      const endpoint = members.get(member)
      if (endpoint === undefined) throw new Error(`${member} has no endpoint`)
      const spending = spendingOf(args)
      const page = await readEndpoint(endpoint, asked, { ...context, spending, maxRows: maxRowsOf(args) })
      return shapedAnswer(page, args, spending)
    },
  }
}

export function spendingOf(args: ToolArguments): Spending {
  return new Spending(
    ownWhole(args, 'max_credits', { min: 0, max: MAX_MAX_CREDITS, fallback: DEFAULT_MAX_CREDITS }),
  )
}

/** What a flag adds to a row, such as its order books, makes the row several times longer. */
const ROWS_PER_FLAG = 4

export function maxRowsOf(args: ToolArguments): number {
  const flags = Object.entries(args).filter(([name, value]) => name !== 'dry_run' && String(value) === 'true')
  const most = Math.floor(MAX_ROWS / ROWS_PER_FLAG ** flags.length)
  return Math.max(1, args.limit === undefined ? Math.min(most, DEFAULT_ROWS) : most)
}

export function askedFields(args: ToolArguments): readonly string[] | undefined {
  if (args.fields === undefined) return undefined
  return ['timestamp', ...String(args.fields).split(',')].map((name) => name.trim())
}

export function shapedAnswer(page: EndpointPage, args: ToolArguments, spending: Spending): JsonObject {
  const { price } = spending
  if (isDryRun(args)) return shapeObject({ dry_run: page.body, price })
  const { rows } = page
  if (rows === undefined) return shapeObject({ answer: page.body, price })
  const fields = askedFields(args)
  return shapePage({ ...page, rows }, { price, ...(fields ? { fields } : {}) })
}

/** The endpoints at a path and directly below it, by the last word of their path. */
export function membersAt(
  endpoints: readonly ToolEndpoint[],
  path: string,
  ownName: string,
): ReadonlyMap<string, ToolEndpoint> {
  return new Map(
    endpoints
      .filter((endpoint) => endpoint.method === 'GET')
      .flatMap((endpoint): [string, ToolEndpoint][] => {
        if (endpoint.path === path) return [[ownName, endpoint]]
        const rest = endpoint.path.startsWith(`${path}/`) ? endpoint.path.slice(path.length + 1) : ''
        return rest === '' || /[/{]/.test(rest) ? [] : [[rest, endpoint]]
      }),
  )
}
