export { Tapeline, type TapelineOptions } from './client.ts'
export {
  ApiError,
  ConnectionError,
  CreditLimitError,
  StreamError,
  type StreamGap,
  StreamGapError,
  TapelineError,
  UnreadableAnswerError,
  WebhookSignatureError,
} from './errors.ts'
export * from './generated.ts'
export type { Page, Rows } from './rows.ts'
export type { EventStream, StreamOptions } from './stream.ts'
export type { AnswerInfo } from './transport.ts'
export { verifyWebhook, type WebhookHeaders } from './webhook.ts'
