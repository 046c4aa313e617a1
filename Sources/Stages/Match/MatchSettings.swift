import PipelineKit

/// The settings of ``MatchStage`` in a pipeline file.
package struct MatchSettings: PluginSettings, Hashable {
    /// What the `recordType` of a zone or database subscription does.
    package var strictRecordType: StrictRecordType

    package enum StrictRecordType: String, CaseIterable, Sendable {
        /// The subscription watches changes of this type only (CKRecordZoneSubscription, overview;
        /// CKDatabaseSubscription.h).
        case narrow
        /// The subscription watches all changes (CKRecordZoneSubscription.recordType: only for query subscriptions).
        case ignore
    }

    package init(strictRecordType: StrictRecordType = .narrow) { self.strictRecordType = strictRecordType }

    package init(from settings: inout SettingsReader) throws(SettingsError) {
        strictRecordType = try settings.choice("strictRecordType", default: .narrow)
    }
}
