import PipelineKit

/// Settings of ``DeliverStage``: the transports, by the names that devices register with.
///
///     transports:
///       apns: { use: webhook, url: "https://push.example.com/notes" }
///       console: { use: console }
///
/// `use` names the plugin; the other keys are the plugin's own.
public struct DeliverSettings: PluginSettings {
    /// In the order of the file. Never empty.
    public let transports: [TransportBinding]

    public init(from settings: inout SettingsReader) throws(SettingsError) {
        let named = try settings.mappings("transports")
        guard !named.isEmpty else {
            throw settings.fail("transports", "name at least one transport", hint: Self.example)
        }
        transports = try named.map { name, reader throws(SettingsError) in
            var reader = reader
            guard reader.contains("use") else { throw reader.fail("use", "required", hint: Self.example) }
            return TransportBinding(name: name, kind: try reader.string("use"), settings: reader)
        }
    }

    private static let example = "write one like apns: { use: file, path: pushes.ndjson }"
}
