import type { AlertName, AlertSeverity } from '../base/alert.ts';
import type {
  AlertmanagerSinkOptions,
  JsonlSinkOptions,
  PagerDutySinkOptions,
  SlackSinkOptions,
  WebhookSinkOptions,
} from '../base/sink-options.ts';

type OneOrMore<T> = T | readonly T[];

/** What every sink of a policy may say besides its own options. */
export interface SinkCommonInput {
  /** What `penstock alerts test` and counts of lost alerts call it. Default: its kind. */
  readonly name?: string | undefined;
  /** Which alerts it gets: those that match everything that is said here. Default: all. */
  readonly only?:
    | {
        readonly severity?: OneOrMore<AlertSeverity> | undefined;
        readonly owner?: OneOrMore<string> | undefined;
        readonly downstream?: OneOrMore<string> | undefined;
        readonly name?: OneOrMore<AlertName> | undefined;
      }
    | undefined;
}

/** In a policy a secret can only be named, never be given by a function. */
type Named<T> = { readonly [K in keyof T]: Exclude<T[K], (...args: never) => unknown> };

/** Where incidents go: one kind of sink with its options. Secrets are named (`SLACK_WEBHOOK_URL`), never written here. */
export type AlertSinkInput =
  | 'stderr'
  | 'otel'
  | { readonly stderr: (SinkCommonInput & { readonly format?: 'block' | 'json' | undefined }) | null }
  | { readonly jsonl: SinkCommonInput & JsonlSinkOptions }
  | {
      readonly webhook: SinkCommonInput &
        Named<Omit<WebhookSinkOptions, 'headersFrom'>> & {
          readonly headersFrom?: { readonly [header: string]: string } | undefined;
        };
    }
  | { readonly alertmanager: SinkCommonInput & Named<AlertmanagerSinkOptions> }
  | { readonly pagerduty: SinkCommonInput & Named<PagerDutySinkOptions> }
  | { readonly slack: SinkCommonInput & Named<SlackSinkOptions> }
  | { readonly otel: SinkCommonInput | null };
