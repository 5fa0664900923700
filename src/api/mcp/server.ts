import { Server, type Tool } from '@modelcontextprotocol/server'
import type { EndpointCall, ToolEndpoint } from './endpoint-call.ts'
import { PROMPTS, promptText } from './prompts.ts'
import { listResources, RESOURCE_TEMPLATES, readResource } from './resources.ts'
import { MAX_ANSWER_CHARS } from './shape-answer.ts'
import { type McpTool, readArguments, type ToolContext, ToolFailure } from './tool.ts'
import { mcpTools } from './tools.ts'

/** One connection, or one request over HTTP. */
export interface McpSession {
  readonly call: EndpointCall
  readonly isOver: () => boolean
  /** Called for errors that are our fault, so that they are logged. */
  readonly onFault: (error: unknown) => void
}

export interface McpService {
  readonly version: string
  readonly endpoints: readonly ToolEndpoint[]
}

const INSTRUCTIONS = `Tapeline: recorded market history (prices, trades, order books, funding, open interest, prediction markets) and a Kaspa node. Everything is read-only. Begin with find_sources (free). Calls cost credits: each answer has its price, max_credits bounds a call, dry_run tells a price for free. Answers have at most ${MAX_ANSWER_CHARS} characters; "rest" says how to get what is left. "coverage" lists gaps: report them, never fill them in.`

const READ_ONLY = { readOnlyHint: true, destructiveHint: false, openWorldHint: false }

/** Creates servers of the protocol; the SDK takes one for each request or connection. */
export function mcpServerFactory({ version, endpoints }: McpService): (session: McpSession) => Server {
  const tools = mcpTools(endpoints)
  const definitions = tools.map(definitionOf)
  return (session) => {
    const server = new Server(
      { name: 'tapeline', title: 'Tapeline', version },
      { capabilities: { tools: {}, resources: {}, prompts: {} }, instructions: INSTRUCTIONS },
    )
    server.setRequestHandler('tools/list', async () => ({ tools: definitions }))
    server.setRequestHandler('tools/call', async ({ params }) => runTool(tools, params, session))
    server.setRequestHandler('resources/list', async () => ({ resources: listResources() }))
    server.setRequestHandler('resources/templates/list', async () => ({
      resourceTemplates: [...RESOURCE_TEMPLATES],
    }))
    server.setRequestHandler('resources/read', async ({ params }) => ({
      contents: [await readResource(params.uri, session.call, endpoints)],
    }))
    server.setRequestHandler('prompts/list', async () => ({ prompts: [...PROMPTS] }))
    server.setRequestHandler('prompts/get', async ({ params }) => ({
      messages: [
        { role: 'user', content: { type: 'text', text: promptText(params.name, params.arguments ?? {}) } },
      ],
    }))
    return server
  }
}

function definitionOf({ name, title, description, inputSchema }: McpTool): Tool {
  const schema = inputSchema as unknown as Tool['inputSchema']
  return { name, title, description, inputSchema: schema, annotations: READ_ONLY }
}

async function runTool(
  tools: readonly McpTool[],
  asked: { readonly name: string; readonly arguments?: Record<string, unknown> | undefined },
  session: McpSession,
) {
  const context: ToolContext = {
    call: session.call,
    isOver: session.isOver,
    wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  }
  try {
    const tool = tools.find(({ name }) => name === asked.name)
    if (tool === undefined)
      throw new ToolFailure(
        `There is no tool "${asked.name.slice(0, 60)}".`,
        `Use one of: ${tools.map(({ name }) => name).join(', ')}.`,
      )
    const answer = await tool.run(readArguments(tool, asked.arguments), context)
    return { content: [{ type: 'text' as const, text: JSON.stringify(answer) }] }
  } catch (error) {
    if (!(error instanceof ToolFailure)) session.onFault(error)
    const detail =
      error instanceof ToolFailure
        ? error.detail
        : {
            error: 'internal_error',
            message: 'The call failed.',
            what_to_change: 'Try again in a few seconds.',
          }
    return { content: [{ type: 'text' as const, text: JSON.stringify(detail) }], isError: true }
  }
}
