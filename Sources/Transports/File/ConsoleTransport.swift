import JSON
import PipelineKit

/// Prints each push on the console.
package struct ConsoleTransport: Transport {
    package struct Settings: PluginSettings {
        package enum Format: String, Sendable, CaseIterable {
            /// A line for people. Its form may change.
            case text
            /// The push as one line of JSON.
            case json
        }

        package let format: Format

        package init(from settings: inout SettingsReader) throws(SettingsError) {
            format = try settings.choice("format", default: .text)
        }
    }

    package static let kind = "console"

    private let format: Settings.Format
    private let console: @Sendable (String) throws -> Void

    package init(_ settings: Settings, context: TransportContext) throws(SettingsError) {
        format = settings.format
        console = context.console
    }

    package func deliver(_ pushes: [Delivery]) async -> [TransportAnswer] {
        pushes.map(show)
    }

    private func show(_ push: Delivery) -> TransportAnswer {
        do {
            try console(format == .json ? String(decoding: push.line, as: UTF8.self) : PushSummary.text(of: push))
            return TransportAnswer(push.id, .accepted)
        } catch {
            return TransportAnswer(push.id, .failed, reason: "\(error)")
        }
    }
}
