import PipelineKit

/// The settings of ``IngestStage`` in a pipeline file.
package struct IngestSettings: PluginSettings {
    /// The address at which the host accepts commands from producers; nil for the default, a socket in the data folder.
    package var door: String?
    /// Whether every form of subscription is accepted in every database, and a zone subscription may watch the default
    /// zone, unlike in CloudKit.
    package var subscriptionsInAnyDatabase = false
    /// Which predicates a saved subscription may have.
    package var predicates = Predicates.cloudKit

    package enum Predicates: String, CaseIterable, Sendable {
        /// The predicates that CloudKit supports. Their texts may use Belfry's additions to the syntax.
        case cloudKit
        /// Also `OR`, `ALL` before a field, and `NOT` before `BETWEEN` and before groups with `AND` and `OR`.
        case extended
    }
}

extension IngestSettings {
    package init(from settings: inout SettingsReader) throws(SettingsError) {
        self.init()
        door = try settings.optionalAddress("door")
        subscriptionsInAnyDatabase = try settings.boolean(
            "subscriptionsInAnyDatabase", default: subscriptionsInAnyDatabase)
        predicates = try settings.choice("predicates", default: predicates)
    }
}
