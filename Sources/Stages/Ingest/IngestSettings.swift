import PipelineKit

/// What a pipeline file says about ingest.
public struct IngestSettings: PluginSettings {
    /// Where the host takes commands from producers; nil for none but its input.
    public var door: String?
    /// Takes each form of subscription in each database, which CloudKit does not.
    public var subscriptionsInAnyDatabase: Bool

    public init(door: String? = nil, subscriptionsInAnyDatabase: Bool = false) {
        self.door = door
        self.subscriptionsInAnyDatabase = subscriptionsInAnyDatabase
    }

    public init(from settings: inout SettingsReader) throws(SettingsError) {
        door = try settings.optionalString("door")
        subscriptionsInAnyDatabase = try settings.boolean("subscriptionsInAnyDatabase", default: false)
    }
}
