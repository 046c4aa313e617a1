import PipelineKit

/// What a pipeline file says about ingest.
package struct IngestSettings: PluginSettings {
    /// Where the host takes commands from producers; nil for none but its input.
    package var door: String?
    /// Takes each form of subscription in each database, which CloudKit does not.
    package var subscriptionsInAnyDatabase: Bool
    /// Which predicates a saved subscription may have.
    package var predicates: Predicates

    package enum Predicates: String, CaseIterable, Sendable {
        /// Those that CloudKit takes.
        case cloudKit
        /// Also `OR`, `ALL`, and `NOT` before what `AND` and `OR` join.
        case extended
    }

    package init(
        door: String? = nil, subscriptionsInAnyDatabase: Bool = false, predicates: Predicates = .cloudKit
    ) {
        self.door = door
        self.subscriptionsInAnyDatabase = subscriptionsInAnyDatabase
        self.predicates = predicates
    }

    package init(from settings: inout SettingsReader) throws(SettingsError) {
        door = try settings.optionalAddress("door")
        subscriptionsInAnyDatabase = try settings.boolean("subscriptionsInAnyDatabase", default: false)
        predicates = try settings.choice("predicates", default: .cloudKit)
    }
}
