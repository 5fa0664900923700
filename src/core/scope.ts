/** A key may be limited to parts of the service. */
export const SCOPES = ['market', 'node', 'webhooks'] as const
export type Scope = (typeof SCOPES)[number]
