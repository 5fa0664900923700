import { compareTool } from './compare-tool.ts'
import type { ToolEndpoint } from './endpoint-call.ts'
import { endpointTool, membersAt } from './endpoint-tool.ts'
import { chainStatusTool, explainCostTool, findSourcesTool } from './free-tools.ts'
import { historyTool } from './history-tool.ts'
import { proofTool } from './proof-tool.ts'
import type { McpTool } from './tool.ts'

/**
 * The tools, designed for models: a few questions instead of one tool per route. What they accept and return is derived
 * from the declarations, so a new source, parameter, field or part of a market or an address appears without a change
 * here.
 */
export function mcpTools(endpoints: readonly ToolEndpoint[]): McpTool[] {
  const one = (path: string) =>
    new Map(
      endpoints.filter((each) => each.method === 'GET' && each.path === path).map((each) => [path, each]),
    )
  const at = (path: string) => one(path).get(path)
  const [market, candles, snapshotAt] = [
    at('/v1/markets/{identifier}'),
    at('/v1/candles'),
    at('/v1/snapshots/at'),
  ]
  const tools = [
    findSourcesTool(endpoints),
    endpointTool({
      name: 'find_markets',
      title: 'Find markets',
      description: 'Prediction markets and perpetuals with their identifiers, strikes, times and results.',
      members: one('/v1/markets'),
      choice: 'part',
    }),
    endpointTool({
      name: 'get_market',
      title: 'One market',
      description: 'One market by slug, ticker, condition id or coin, and what else is known of it.',
      members: membersAt(endpoints, '/v1/markets/{identifier}', 'record'),
      choice: 'part',
    }),
    historyTool(endpoints),
    endpointTool({
      name: 'get_snapshot',
      title: 'Nearest snapshot',
      description: 'The order-book snapshot at or before a time.',
      members: one('/v1/snapshots/at'),
      choice: 'part',
    }),
    candles && compareTool(candles),
    market && candles && snapshotAt && proofTool({ market, candles, snapshotAt }),
    endpointTool({
      name: 'lookup_transaction',
      title: 'Kaspa transaction',
      description: 'One Kaspa transaction, parsed, with its status.',
      members: membersAt(endpoints, '/v1/transactions/{tx_id}', 'transaction'),
      choice: 'part',
    }),
    endpointTool({
      name: 'lookup_address',
      title: 'Kaspa address',
      description:
        'Balance, history, unspent outputs or activity of a Kaspa address. Amounts are in sompi (1e-8 KAS).',
      members: membersAt(endpoints, '/v1/addresses/{address}', 'address'),
      choice: 'part',
    }),
    endpointTool({
      name: 'lookup_covenant',
      title: 'Kaspa covenant',
      description: 'A covenant with its lineage, or its unspent outputs.',
      members: membersAt(endpoints, '/v1/covenants/{covenant_id}', 'lineage'),
      choice: 'part',
    }),
    chainStatusTool(endpoints),
    explainCostTool(endpoints),
  ]
  return tools.filter((tool) => tool !== undefined)
}
