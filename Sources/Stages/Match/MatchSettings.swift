import PipelineKit

/// What a pipeline file says about match.
package struct MatchSettings: PluginSettings, Hashable {
    /// What `recordType` does on a zone or database subscription.
    package var strictRecordType: StrictRecordType

    package enum StrictRecordType: String, CaseIterable, Sendable {
        /// Only changes of that type are watched (CKRecordZoneSubscription, overview; CKDatabaseSubscription.h).
        case narrow
        /// All changes are watched (CKRecordZoneSubscription.recordType: only query subscriptions heed it).
        case ignore
    }

    package init(strictRecordType: StrictRecordType = .narrow) { self.strictRecordType = strictRecordType }

    package init(from settings: inout SettingsReader) throws(SettingsError) {
        strictRecordType = try settings.choice("strictRecordType", default: .narrow)
    }
}
