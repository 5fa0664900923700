export { Tapeline } from './client.ts'
export {
  ConnectionError,
  CreditLimitError,
  StreamError,
  type StreamGap,
  StreamGapError,
  TapelineError,
  WebhookSignatureError,
} from './errors.ts'
export * from './generated.ts'
export type { Page, Rows } from './rows.ts'
export type { EventStream, StreamOptions } from './stream.ts'
export type { AnswerInfo, TransportOptions } from './transport.ts'
export { verifyWebhook, type WebhookHeaders } from './webhook.ts'
