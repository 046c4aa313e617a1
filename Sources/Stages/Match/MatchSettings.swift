import PipelineKit

/// The settings of ``MatchStage`` in a pipeline file.
package struct MatchSettings: PluginSettings, Hashable {
    /// How match treats the `recordType` of a zone or database subscription.
    package var strictRecordType: StrictRecordType

    package enum StrictRecordType: String, CaseIterable, Sendable {
        /// The subscription watches changes of this type only. Apple describes this in the overview of
        /// `CKRecordZoneSubscription` and in `CKDatabaseSubscription.h`.
        case narrow
        /// The subscription watches changes of all types. Apple's page on `CKRecordZoneSubscription.recordType` says
        /// that the property is only for query subscriptions.
        case ignore
    }

    package init(strictRecordType: StrictRecordType = .narrow) { self.strictRecordType = strictRecordType }

    package init(from settings: inout SettingsReader) throws(SettingsError) {
        strictRecordType = try settings.choice("strictRecordType", default: .narrow)
    }
}
