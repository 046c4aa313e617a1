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

    /// The lane whose changes the stage takes.
    package var lane: Lane

    package init(strictRecordType: StrictRecordType = .narrow, lane: Lane = Lane(0, of: 1)) {
        (self.strictRecordType, self.lane) = (strictRecordType, lane)
    }

    package init(from settings: inout SettingsReader) throws(SettingsError) {
        strictRecordType = try settings.choice("strictRecordType", default: .narrow)
        let text =
            settings.contains(PipelineStage.laneKey) ? try settings.optionalString(PipelineStage.laneKey) : nil
        guard let lane = text.map({ Lane($0) }) ?? Lane(0, of: 1) else {
            throw settings.fail(PipelineStage.laneKey, "'\(text ?? "")' is not a lane, such as 7/16")
        }
        self.lane = lane
    }
}
